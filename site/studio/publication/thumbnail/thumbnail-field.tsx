/** Choosing the picture of a post: the author's own, cropped, or one made from the title. */

import { useEffect, useRef, useState } from "preact/hooks";
import { WORDS } from "../../words.ts";
import { type Crop, fullCrop } from "./crop.ts";
import { CropStage } from "./crop-stage.tsx";
import { decodePicture } from "./thumbnails.ts";

interface Props {
  kind: "own" | "made";
  picture: ImageBitmap | null;
  crop: Crop | null;
  onKind(kind: "own" | "made"): void;
  onPicture(source: Blob, picture: ImageBitmap): Promise<void>;
  onCrop(crop: Crop): void;
}

export function ThumbnailField(props: Props) {
  const { kind, picture, crop, onKind, onPicture, onCrop } = props;
  const [problem, setProblem] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const last = useRef<Blob | null>(null);
  const take = async (source: Blob | null | undefined) => {
    if (!source) return;
    last.current = source;
    try {
      const decoded = await decodePicture(source);
      // Another one was chosen meanwhile.
      if (last.current !== source) return;
      await onPicture(source, decoded);
      setProblem(null);
    } catch (error) {
      if (last.current !== source) return;
      setProblem(error instanceof Error ? error.message : WORDS.pictureCannotUsed);
    }
  };
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const found = pictureOf(event.clipboardData);
      if (!found) return;
      event.preventDefault();
      void take(found);
    };
    addEventListener("paste", paste);
    return () => removeEventListener("paste", paste);
  });
  return (
    <fieldset
      class="publish-picture"
      data-over={isOver ? "" : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(pictureOf(event.dataTransfer));
      }}
    >
      <legend>{WORDS.picture}</legend>
      <div class="publish-choice">
        <label>
          <input
            type="radio"
            name="picture"
            checked={kind === "made"}
            onChange={() => onKind("made")}
          />
          {WORDS.madeFromTitle}
        </label>
        <label>
          <input
            type="radio"
            name="picture"
            checked={kind === "own"}
            onChange={() => (picture ? onKind("own") : input.current?.click())}
          />
          {WORDS.myOwnPicture}
        </label>
        <button type="button" onClick={() => input.current?.click()}>
          {picture ? WORDS.chooseAnother : WORDS.choosePicture}
        </button>
        <input
          ref={input}
          class="unseen"
          type="file"
          accept="image/*"
          tabIndex={-1}
          aria-label={WORDS.pictureFile}
          onChange={(event) => {
            void take(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      {kind === "own" && picture ? (
        <CropStage picture={picture} crop={crop ?? fullCrop(picture)} onCrop={onCrop} />
      ) : (
        <p class="publish-hint">{WORDS.cardShowsPictureMade}</p>
      )}
      {problem && (
        <p class="publish-problem" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}

const pictureOf = (data: DataTransfer | null): File | undefined =>
  [...(data?.files ?? [])].find((file) => file.type.startsWith("image/"));
