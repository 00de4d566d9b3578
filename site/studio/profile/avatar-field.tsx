/** Choosing the picture of a profile: a square cropped from the author's own picture. */

import { useRef, useState } from "preact/hooks";
import type { Crop } from "../publication/thumbnail/crop.ts";
import { CropStage } from "../publication/thumbnail/crop-stage.tsx";
import { decodePicture } from "../publication/thumbnail/thumbnails.ts";
import { WORDS as STUDIO_WORDS } from "../words.ts";
import { WORDS } from "./words.ts";

interface Props {
  picture: ImageBitmap | null;
  crop: Crop | null;
  /** Whether there is a picture that can be removed. */
  isRemovable: boolean;
  onPicture(source: Blob, picture: ImageBitmap): void;
  onCrop(crop: Crop): void;
  onRemove(): void;
}

export function AvatarField({ picture, crop, isRemovable, onPicture, onCrop, onRemove }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const last = useRef<Blob | null>(null);
  const take = async (source: Blob | undefined) => {
    if (!source) return;
    last.current = source;
    try {
      const decoded = await decodePicture(source);
      // Another one was chosen meanwhile.
      if (last.current !== source) return;
      onPicture(source, decoded);
      setProblem(null);
    } catch (error) {
      if (last.current !== source) return;
      setProblem(error instanceof Error ? error.message : STUDIO_WORDS.pictureCannotUsed);
    }
  };
  return (
    <fieldset class="publish-picture profile-picture">
      <legend>{STUDIO_WORDS.picture}</legend>
      <div class="publish-choice">
        <button type="button" onClick={() => input.current?.click()}>
          {picture || isRemovable ? STUDIO_WORDS.chooseAnother : STUDIO_WORDS.choosePicture}
        </button>
        {isRemovable && (
          <button type="button" class="quiet" onClick={onRemove}>
            {WORDS.removePicture}
          </button>
        )}
        <input
          ref={input}
          class="unseen"
          type="file"
          accept="image/*"
          tabIndex={-1}
          aria-label={STUDIO_WORDS.pictureFile}
          onChange={(event) => {
            void take(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      {picture && crop && <CropStage picture={picture} crop={crop} onCrop={onCrop} />}
      {problem && (
        <p class="publish-problem" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  );
}
