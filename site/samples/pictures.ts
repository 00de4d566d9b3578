/** Pictures of the sample posts and portraits of their authors: drawn as SVG, always the same. */

export type Motif =
  | "books"
  | "clock"
  | "contours"
  | "hills"
  | "leaves"
  | "lighthouse"
  | "loaf"
  | "papers"
  | "waves";

export interface Picture {
  readonly motif: Motif;
  /** A dark colour, a bright one, and the background. */
  readonly colours: readonly [string, string, string];
}

export interface Portrait {
  /** The background, the skin, the hair and the clothes. */
  readonly colours: readonly [string, string, string, string];
  readonly hair: "bun" | "curls" | "short";
}

const WIDTH = 1200;
const HEIGHT = 800;

/** The side of a portrait in pixels. */
const SIDE = 400;

/** The SVG of a picture. */
export function drawPicture({ motif, colours: [dark, bright, ground] }: Picture): string {
  return svg(WIDTH, HEIGHT, [
    `<defs><linearGradient id="g" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${ground}"/><stop offset="1" stop-color="${mix(ground, bright, 0.45)}"/></linearGradient></defs>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="url(#g)"/>`,
    ...MOTIFS[motif](dark, bright, ground),
  ]);
}

/** The SVG of a portrait. */
export function drawPortrait({ colours: [ground, skin, hair, clothes], hair: cut }: Portrait) {
  const shade = mix(skin, hair, 0.22);
  const behind = {
    bun: circle(200, 84, 46, hair) + circle(200, 176, 98, hair),
    curls: range(11)
      .map((index) => {
        const angle = Math.PI * (0.94 + 0.112 * index);
        return circle(200 + 92 * Math.cos(angle), 190 + 92 * Math.sin(angle), 42, hair);
      })
      .join(""),
    short: circle(200, 164, 94, hair),
  }[cut];
  return svg(SIDE, SIDE, [
    `<rect width="${SIDE}" height="${SIDE}" fill="${ground}"/>`,
    behind,
    `<path d="M40 400 Q52 300 150 292 H250 Q348 300 360 400 Z" fill="${clothes}"/>`,
    `<path d="M162 240 H238 V296 Q200 338 162 296 Z" fill="${shade}"/>`,
    `<ellipse cx="200" cy="196" rx="74" ry="88" fill="${skin}"/>`,
    `<path d="M124 190 Q128 108 200 106 Q272 108 276 190 Q258 138 200 ${cut === "short" ? 150 : 140} Q142 138 124 190 Z" fill="${hair}"/>`,
    ...[172, 228].map((x) => circle(x, 202, 6, mix(hair, "#000000", 0.5))),
    `<path d="M174 238 Q200 258 226 238" fill="none" stroke="${mix(hair, "#000000", 0.3)}" stroke-width="5" stroke-linecap="round"/>`,
  ]);
}

/** The picture of a sample as PNG. */
export const renderPicture = (picture: Picture): Promise<Blob> =>
  render(drawPicture(picture), WIDTH, HEIGHT);

/** A portrait as PNG. */
export const renderPortrait = (portrait: Portrait): Promise<Blob> =>
  render(drawPortrait(portrait), SIDE, SIDE);

async function render(drawn: string, width: number, height: number): Promise<Blob> {
  const image = new Image(width, height);
  image.src = `data:image/svg+xml,${encodeURIComponent(drawn)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The browser drew no picture."))),
      "image/png",
    ),
  );
}

type Draw = (dark: string, bright: string, ground: string) => string[];

const MOTIFS: Record<Motif, Draw> = {
  books: (dark, bright, ground) => {
    const spines = range(15).map((index) => {
      const [width, height] = [48 + 13 * ((index * 7) % 4), 330 + 38 * ((index * 5) % 6)];
      const fill = [dark, bright, mix(dark, ground, 0.35), mix(bright, dark, 0.45)][
        (index * 3) % 4
      ];
      return { width, height, fill: fill ?? dark };
    });
    let x = 84;
    return [
      ...spines.flatMap(({ width, height, fill }, index) => {
        const [left, top] = [x, 660 - height];
        x += width + 6;
        const band = mix(fill, ground, 0.7);
        return [
          `<rect x="${left}" y="${top}" width="${width}" height="${height}" rx="5" fill="${fill}"/>`,
          `<rect x="${left}" y="${top + 40 + 9 * (index % 3)}" width="${width}" height="6" fill="${band}"/>`,
          `<rect x="${left}" y="${660 - 70}" width="${width}" height="14" fill="${band}" opacity="0.8"/>`,
        ];
      }),
      `<rect x="0" y="660" width="${WIDTH}" height="22" fill="${dark}"/>`,
      `<rect x="0" y="682" width="${WIDTH}" height="118" fill="${dark}" opacity="0.12"/>`,
    ];
  },
  clock: (dark, bright, ground) => [
    circle(600, 430, 330, dark, 0.14),
    circle(600, 405, 310, dark),
    circle(600, 405, 274, mix(ground, "#ffffff", 0.5)),
    ...range(12).map((index) => {
      const isQuarter = index % 3 === 0;
      return `<rect x="${isQuarter ? 593 : 596}" y="${405 - 254}" width="${isQuarter ? 14 : 8}" height="${isQuarter ? 44 : 26}" rx="4" fill="${dark}" transform="rotate(${30 * index} 600 405)"/>`;
    }),
    `<rect x="590" y="255" width="20" height="176" rx="10" fill="${dark}" transform="rotate(-52 600 405)"/>`,
    `<rect x="593" y="195" width="14" height="240" rx="7" fill="${dark}" transform="rotate(38 600 405)"/>`,
    `<rect x="597" y="180" width="6" height="280" rx="3" fill="${bright}" transform="rotate(150 600 405)"/>`,
    circle(600, 405, 18, bright),
  ],
  contours: (dark, bright, ground) => [
    ...range(9).map((index) => {
      const fill = mix(ground, bright, 0.06 + 0.09 * index);
      return `<path d="${ring(690, 400, 520 - 56 * index, 1 + index / 9)}" fill="${fill}" stroke="${dark}" stroke-opacity="0.45" stroke-width="${index % 3 ? 2 : 4}"/>`;
    }),
    `<path d="M-20 690 C180 560 240 700 420 590 S600 330 760 300" fill="none" stroke="${dark}" stroke-width="9" stroke-dasharray="26 18" stroke-linecap="round"/>`,
    `<path d="M760 300 c-60 -76 -52 -150 0 -150 s60 74 0 150 Z" fill="${dark}"/>`,
    circle(760, 202, 20, ground),
  ],
  hills: (dark, bright, ground) => [
    circle(850, 240, 150, bright, 0.25),
    circle(850, 240, 96, bright),
    ...range(6).map((index) => {
      const fill = mix(mix(ground, bright, 0.5), dark, 0.12 + 0.17 * index);
      return `<path d="${ridge(330 + 82 * index, 74 - 7 * index, 1.7 * index)}" fill="${fill}"/>`;
    }),
  ],
  leaves: (dark, bright, ground) =>
    [
      { x: 330, tilt: -14, size: 0.86, fill: mix(dark, ground, 0.5) },
      { x: 880, tilt: 12, size: 0.92, fill: mix(bright, ground, 0.25) },
      { x: 600, tilt: -2, size: 1.1, fill: dark },
    ].map(({ x, tilt, size, fill }) => {
      const blades = range(8).flatMap((index) =>
        [-1, 1].map((side) => {
          const [y, long] = [-90 - 66 * index, (190 - 15 * index) * side];
          return `<path d="M0 ${y} Q${long * 0.35} ${y - 92} ${long} ${y - 84} Q${long * 0.72} ${y + 12} 0 ${y} Z" fill="${side > 0 ? fill : mix(fill, ground, 0.18)}"/>`;
        }),
      );
      return `<g transform="translate(${x} 830) rotate(${tilt}) scale(${size})"><path d="M0 0 Q14 -320 0 -660" fill="none" stroke="${fill}" stroke-width="9" stroke-linecap="round"/>${blades.join("")}<path d="M0 -640 q-34 -56 0 -120 q34 64 0 120 Z" fill="${fill}"/></g>`;
    }),
  lighthouse: (dark, bright, ground) => [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${dark}"/>`,
    ...range(46).map((index) =>
      circle((index * 263) % WIDTH, (index * 149) % 520, 1.5 + (index % 3), ground, 0.65),
    ),
    `<path d="M812 236 L-40 90 V330 Z" fill="${bright}" opacity="0.32"/>`,
    `<path d="M828 236 L1240 170 V300 Z" fill="${bright}" opacity="0.32"/>`,
    `<path d="M766 640 L786 280 H854 L874 640 Z" fill="${ground}"/>`,
    ...range(2).map(
      (index) =>
        `<path d="M${780 - 7 * index} ${390 + 130 * index} h${80 + 14 * index} l4 66 h-${88 + 14 * index} Z" fill="${mix(dark, bright, 0.35)}"/>`,
    ),
    `<rect x="774" y="266" width="92" height="16" rx="4" fill="${mix(ground, dark, 0.45)}"/>`,
    `<rect x="790" y="206" width="60" height="60" fill="${bright}"/>`,
    `<path d="M782 206 H858 L820 158 Z" fill="${mix(ground, dark, 0.45)}"/>`,
    `<path d="M560 800 Q640 610 790 634 T1240 700 V800 Z" fill="${mix(dark, "#000000", 0.45)}"/>`,
    ...range(3).map(
      (index) =>
        `<path d="${ridge(690 + 44 * index, 12, 2 * index)}" fill="${mix(dark, bright, 0.16 - 0.05 * index)}" opacity="0.85"/>`,
    ),
  ],
  loaf: (dark, bright, ground) => [
    `<ellipse cx="600" cy="640" rx="470" ry="86" fill="${dark}" opacity="0.22"/>`,
    `<rect x="120" y="590" width="960" height="64" rx="32" fill="${mix(dark, bright, 0.4)}"/>`,
    `<path d="M220 600 C190 320 380 200 600 200 S1010 320 980 600 Q600 660 220 600 Z" fill="${dark}"/>`,
    `<path d="M254 560 C250 340 410 236 600 236 S950 340 946 560 Q600 600 254 560 Z" fill="${mix(dark, bright, 0.3)}"/>`,
    ...range(4).map((index) => {
      const x = 372 + 128 * index;
      return `<path d="M${x} 520 Q${x - 6} 360 ${x + 74} 282 Q${x + 44} 400 ${x + 44} 520 Z" fill="${mix(bright, ground, 0.35)}"/>`;
    }),
    ...range(40).map((index) =>
      circle(
        280 + ((index * 397) % 650),
        290 + ((index * 181) % 260),
        2 + (index % 3),
        ground,
        0.7,
      ),
    ),
  ],
  papers: (dark, bright, ground) => [
    ...[
      { x: 250, y: 150, turn: -9, paper: mix(ground, bright, 0.55) },
      { x: 470, y: 96, turn: 6, paper: mix(ground, "#ffffff", 0.35) },
      { x: 360, y: 130, turn: -2, paper: mix(ground, "#ffffff", 0.85) },
    ].map(({ x, y, turn, paper }, sheet) => {
      const lines = range(11).map((index) => {
        const width = [360, 372, 340, 366, 210][(index + 2 * sheet) % 5];
        return `<rect x="60" y="${150 + 44 * index}" width="${width}" height="11" rx="5" fill="${dark}" opacity="${sheet === 2 ? 0.55 : 0.25}"/>`;
      });
      return `<g transform="translate(${x} ${y}) rotate(${turn} 240 340)"><rect x="10" y="16" width="480" height="700" rx="10" fill="${dark}" opacity="0.14"/><rect width="480" height="700" rx="10" fill="${paper}"/><rect x="60" y="74" width="250" height="26" rx="8" fill="${dark}" opacity="${sheet === 2 ? 0.9 : 0.35}"/>${lines.join("")}</g>`;
    }),
    `<path d="M424 384 q60 -26 120 0 t120 0 t96 -6" fill="none" stroke="${mix(bright, "#b02a1c", 0.7)}" stroke-width="8" stroke-linecap="round"/>`,
    `<path d="M700 560 q90 -60 60 20 t80 10" fill="none" stroke="${mix(bright, "#b02a1c", 0.7)}" stroke-width="8" stroke-linecap="round"/>`,
    `<g transform="translate(905 230) rotate(24)"><rect width="40" height="400" rx="6" fill="${dark}"/><rect width="14" height="400" fill="#ffffff" opacity="0.14"/><path d="M0 400 H40 L20 468 Z" fill="${mix(bright, "#ffffff", 0.4)}"/><path d="M14 446 H26 L20 468 Z" fill="${dark}"/></g>`,
  ],
  waves: (dark, bright, ground) => [
    circle(390, 250, 96, mix(bright, "#ffffff", 0.45)),
    ...range(7).map((index) => {
      const fill = mix(mix(ground, bright, 0.6), dark, 0.15 + 0.14 * index);
      return `<path d="${ridge(350 + 68 * index, 16 + 3 * index, 2.3 * index, 3)}" fill="${fill}"/>`;
    }),
    ...range(5).map(
      (index) =>
        `<rect x="${390 - (70 - 10 * index)}" y="${382 + 42 * index}" width="${140 - 20 * index}" height="7" rx="3" fill="#ffffff" opacity="0.5"/>`,
    ),
  ],
};

/** The outline of land or water below a line that swings around `y`. */
function ridge(y: number, swing: number, phase: number, pace = 1): string {
  const points = range(61).map((index) => {
    const [x, turn] = [20 * index, (pace * index) / 9 + phase];
    const at =
      y + swing * (Math.sin(turn) + 0.5 * Math.sin(2.3 * turn + 1) + 0.2 * Math.sin(5.1 * turn));
    return `${x} ${at.toFixed(1)}`;
  });
  return `M0 ${HEIGHT} L${points.join(" L")} L${WIDTH} ${HEIGHT} Z`;
}

/** A closed line around a point, as on a map. */
function ring(x: number, y: number, radius: number, phase: number): string {
  const points = range(73).map((index) => {
    const turn = (2 * Math.PI * index) / 72;
    const far =
      radius * (1 + 0.13 * Math.sin(2 * turn + phase) + 0.08 * Math.sin(3 * turn - phase));
    return `${(x + 1.25 * far * Math.cos(turn)).toFixed(1)} ${(y + 0.86 * far * Math.sin(turn)).toFixed(1)}`;
  });
  return `M${points.join(" L")} Z`;
}

function circle(x: number, y: number, radius: number, fill: string, opacity = 1): string {
  return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}" fill="${fill}" opacity="${opacity}"/>`;
}

/** A colour between two others. */
function mix(from: string, to: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [low, high] = [from, to].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16));
    return Math.round((low ?? 0) * (1 - share) + (high ?? 0) * share);
  });
  return `#${channels.map((each) => each.toString(16).padStart(2, "0")).join("")}`;
}

function svg(width: number, height: number, shapes: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${shapes.join("")}</svg>`;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
