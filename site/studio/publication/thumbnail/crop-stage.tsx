/** The area in which the shown part of a picture is chosen, with a pointer or with keys. */

import { useEffect, useRef } from "preact/hooks";
import { WORDS } from "../../words.ts";
import { type Crop, cropByKey, moveCrop, ratioOf, zoomCrop, zoomOf } from "./crop.ts";
import { drawCrop } from "./thumbnails.ts";

/** The width of the canvas in pixels; the page scales it. */
const WIDTH = 900;

interface Props {
  picture: ImageBitmap;
  crop: Crop;
  onCrop(crop: Crop): void;
}

export function CropStage({ picture, crop, onCrop }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pointers = useRef(new Map<number, { x: number; y: number }>());
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
        width={WIDTH}
        height={WIDTH / ratioOf(crop)}
        style={{ aspectRatio: ratioOf(crop) }}
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
