export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface PlotOptions {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
}

const size = { width: 640, height: 360 };
const frame = { left: 64, right: 16, top: 40, bottom: 48 };
/** Distinguishable for colour-blind readers, on white and on black. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];
const grey = '#808080';

/** A plot of lines as SVG. Each step along x is as wide as the others: 1, 2, 4, 8 are equal steps. */
export function linePlot(series: readonly Series[], { title, xTitle, yTitle }: PlotOptions): string {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const ticks = ticksUpTo(Math.max(0, ...series.flatMap(({ points }) => points.map(([, y]) => y))));
  const top = ticks.at(-1) ?? 1;
  const right = size.width - frame.right;
  const bottom = size.height - frame.bottom;
  const across = (x: number): number =>
    round(frame.left + ((right - frame.left) * (xs.indexOf(x) + 0.5)) / Math.max(1, xs.length));
  const up = (y: number): number => round(bottom - ((bottom - frame.top) * y) / top);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" font-size="12" fill="${grey}">`,
    `<title>${escaped(title)}</title>`,
    text(size.width / 2, 20, title, 'middle', 'font-size="14"'),
    ...ticks.flatMap((tick) => [
      `<line x1="${frame.left}" y1="${up(tick)}" x2="${right}" y2="${up(tick)}" stroke="${grey}" stroke-opacity="0.3"/>`,
      text(frame.left - 8, up(tick) + 4, String(tick), 'end'),
    ]),
    ...xs.map((x) => text(across(x), bottom + 18, String(x), 'middle')),
    text((frame.left + right) / 2, size.height - 10, xTitle, 'middle'),
    text(0, 0, yTitle, 'middle', `transform="translate(16 ${(frame.top + bottom) / 2}) rotate(-90)"`),
    ...series.flatMap(({ name, points }, index) => {
      const colour = colours[index % colours.length] as string;
      const at = points.map(([x, y]) => [across(x), up(y)] as const);
      return [
        `<polyline points="${at.map((point) => point.join(',')).join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...at.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`),
        text(frame.left + 12, frame.top + 16 + index * 18, name, 'start', `style="fill:${colour}"`),
      ];
    }),
    '</svg>',
    '',
  ].join('\n');
}

/** Round values from 0 to the first one that nothing exceeds. */
export function ticksUpTo(max: number): number[] {
  if (max <= 0) return [0, 1];
  const magnitude = 10 ** Math.floor(Math.log10(max));
  const step = [0.1, 0.2, 0.5, 1, 2].map((part) => part * magnitude).find((one) => max / one <= 8) ?? max;
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

function text(x: number, y: number, content: string, anchor: string, more = ''): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}"${more === '' ? '' : ` ${more}`}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const round = (value: number): number => Math.round(value * 10) / 10;
