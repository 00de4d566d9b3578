/** Choosing the picture of a post: the author's own, cropped, or one made from the title. */

import { useEffect, useRef, useState } from "preact/hooks";
import { WORDS } from "../../words.ts";
import { type Crop, cropByKey, fullCrop, moveCrop, zoomCrop, zoomOf } from "./crop.ts";
import { decodePicture, drawCrop } from "./thumbnails.ts";

interface Props {
  kind: "own" | "made";
  picture: ImageBitmap | null;
  crop: Crop | null;
  onKind(kind: "own" | "made"): void;
  onPicture(source: Blob, picture: ImageBitmap): Promise<void>;
  onCrop(crop: Crop): void;
}

export function ThumbnailField(props: Props) {
  const { kind, picture, onKind, onPicture } = props;
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
        <CropStage {...props} picture={picture} />
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

function CropStage({ picture, crop: given, onCrop }: Props & { picture: ImageBitmap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pointers = useRef(new Map<number, { x: number; y: number }>());
  const crop = given ?? fullCrop(picture);
  const zoom = zoomOf(crop, picture);
  useEffect(() => {
    if (canvas.current) drawCrop(canvas.current, picture, crop);
  });
  const drag = (event: PointerEvent) => {
    const shown = canvas.current;
    const before = pointers.current.get(event.pointerId);
    if (!shown || !before) return;
    const scale = crop.width / shown.clientWidth;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
    pointers.current.set(event.pointerId, now);
    if (other) {
      const apart = (point: typeof now) => Math.hypot(point.x - other.x, point.y - other.y);
      onCrop(zoomCrop(crop, picture, (zoom * apart(now)) / Math.max(apart(before), 1)));
    } else {
      onCrop(moveCrop(crop, picture, (before.x - now.x) * scale, (before.y - now.y) * scale));
    }
  };
  const release = (event: PointerEvent) => pointers.current.delete(event.pointerId);
  return (
    <>
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: arrows move the picture */}
      <canvas
        ref={canvas}
        class="publish-canvas publish-crop"
        width={900}
        height={600}
        tabIndex={0}
        role="application"
        aria-label={WORDS.partPictureShown}
        aria-describedby="publish-crop-keys"
        onKeyDown={(event) => {
          const next = cropByKey(crop, picture, event.key, event.shiftKey);
          if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          onCrop(next);
        }}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
        }}
        onPointerMove={drag}
        onPointerUp={release}
        onPointerCancel={release}
      />
      <label class="publish-zoom">
        {WORDS.zoom}
        <input
          type="range"
          min={1}
          max={8}
          step={0.05}
          value={zoom}
          onInput={(event) => onCrop(zoomCrop(crop, picture, Number(event.currentTarget.value)))}
        />
      </label>
      <p class="publish-hint" id="publish-crop-keys">
        {WORDS.dragPictureOrUse}
      </p>
    </>
  );
}
