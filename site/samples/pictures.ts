/** Pictures of the sample posts: drawn as SVG from a motif and three colours, always the same. */

export type Motif = "columns" | "hills" | "leaves" | "rings" | "strata" | "suns" | "waves";

interface Picture {
  readonly motif: Motif;
  /** Dark, bright, and the ground. */
  readonly colours: readonly [string, string, string];
}

const WIDTH = 1200;
const HEIGHT = 800;

/** The SVG of a picture. */
export function drawPicture(picture: Picture): string {
  const [dark, bright, ground] = picture.colours;
  const shapes = MOTIFS[picture.motif](dark, bright);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${ground}"/>`,
    ...shapes,
    "</svg>",
  ].join("");
}

/** The picture as PNG. */
export async function renderPicture(picture: Picture): Promise<Blob> {
  const image = new Image(WIDTH, HEIGHT);
  image.src = `data:image/svg+xml,${encodeURIComponent(drawPicture(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  canvas.getContext("2d")?.drawImage(image, 0, 0, WIDTH, HEIGHT);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The browser drew no picture."))),
      "image/png",
    ),
  );
}

type Draw = (dark: string, bright: string) => string[];

const MOTIFS: Record<Motif, Draw> = {
  columns: (dark, bright) =>
    range(9).map((index) => {
      const height = 180 + 60 * ((index * 5) % 9);
      const fill = index % 3 === 1 ? bright : dark;
      return `<rect x="${150 + 102 * index}" y="${700 - height}" width="62" height="${height}" rx="31" fill="${fill}" opacity="${index % 2 ? 0.75 : 1}"/>`;
    }),
  hills: (dark, bright) => [
    circle(860, 250, 110, bright, 0.9),
    ...range(4).map((index) => {
      const y = 360 + 110 * index;
      const sway = index % 2 ? 120 : -120;
      const path = `M0 ${y} C300 ${y - 160 + sway} 700 ${y + 140 - sway} 1200 ${y - 60} V800 H0 Z`;
      return `<path d="${path}" fill="${dark}" opacity="${(0.3 + 0.22 * index).toFixed(2)}"/>`;
    }),
  ],
  leaves: (dark, bright) => [
    `<path d="M600 760 C590 560 620 380 600 90" stroke="${dark}" stroke-width="10" fill="none" stroke-linecap="round"/>`,
    ...range(7).flatMap((index) => [leaf(index, -1, dark), leaf(index, 1, bright)]),
  ],
  rings: (dark, bright) => [
    ...range(7).map(
      (index) =>
        `<circle cx="600" cy="400" r="${70 + 48 * index}" fill="none" stroke="${dark}" stroke-width="${20 - 2 * index}" opacity="${(1 - 0.11 * index).toFixed(2)}"/>`,
    ),
    `<path d="M600 400 L1210 180 V330 Z" fill="${bright}" opacity="0.55"/>`,
    circle(600, 400, 46, bright, 1),
  ],
  strata: (dark, bright) =>
    range(6).map((index) => {
      const width = 980 - 120 * ((index * 2) % 5);
      const x = index % 2 ? 1200 - 110 - width : 110;
      const fill = index === 2 ? bright : dark;
      return `<rect x="${x}" y="${118 + 98 * index}" width="${width}" height="58" rx="8" fill="${fill}" opacity="${(1 - 0.1 * index).toFixed(2)}"/>`;
    }),
  suns: (dark, bright) => [
    circle(600, 430, 300, bright, 0.55),
    circle(600, 430, 230, dark, 1),
    ...range(5).map((index) => {
      const x = 450 + 75 * index;
      const path = `M${x} 300 Q${x + 42} 430 ${x} 560`;
      return `<path d="${path}" fill="none" stroke="${bright}" stroke-width="18" stroke-linecap="round"/>`;
    }),
  ],
  waves: (dark, bright) => [
    circle(330, 240, 90, bright, 0.8),
    ...range(6).map((index) => {
      const y = 330 + 82 * index;
      const shift = index % 2 ? 0 : -100;
      const crests = range(8)
        .map(() => "q50 -60 100 0 t100 0")
        .join(" ");
      return `<path d="M${shift} ${y} ${crests} V800 H${shift} Z" fill="${index % 3 === 1 ? bright : dark}" opacity="${(0.35 + 0.11 * index).toFixed(2)}"/>`;
    }),
  ],
};

function leaf(index: number, side: 1 | -1, fill: string): string {
  const y = 180 + 80 * index;
  const length = (130 + 26 * index) * side;
  const path = `M600 ${y + 60} Q${600 + length * 0.5} ${y - 80} ${600 + length} ${y - 40} Q${600 + length * 0.6} ${y + 70} 600 ${y + 60} Z`;
  return `<path d="${path}" fill="${fill}" opacity="${(0.95 - 0.06 * index).toFixed(2)}"/>`;
}

function circle(x: number, y: number, radius: number, fill: string, opacity: number): string {
  return `<circle cx="${x}" cy="${y}" r="${radius}" fill="${fill}" opacity="${opacity}"/>`;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
