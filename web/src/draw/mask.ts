/** Positions and sizes are fractions of the width and height of the image, so that a mask fits it at any size. */
export interface MaskPoint {
  readonly x: number;
  readonly y: number;
}

interface MaskStroke {
  readonly type: 'stroke';
  readonly points: readonly MaskPoint[];
  /** Diameter, as a fraction of the longer side. */
  readonly size: number;
  readonly erase: boolean;
}

export type MaskStep = MaskStroke | { readonly type: 'invert' } | { readonly type: 'clear' };

export interface Mask {
  readonly done: readonly MaskStep[];
  readonly undone: readonly MaskStep[];
}

export const emptyMask: Mask = { done: [], undone: [] };

export function withStep({ done }: Mask, step: MaskStep): Mask {
  return { done: [...done, step], undone: [] };
}

export function undo({ done, undone }: Mask): Mask {
  const last = done.at(-1);
  return last === undefined ? { done, undone } : { done: done.slice(0, -1), undone: [...undone, last] };
}

export function redo({ done, undone }: Mask): Mask {
  const last = undone.at(-1);
  return last === undefined ? { done, undone } : { done: [...done, last], undone: undone.slice(0, -1) };
}

/** Whether anything may be painted; what was painted may be erased again. */
export function isPainted({ done }: Pick<Mask, 'done'>): boolean {
  return sinceClear(done).some((step) => step.type === 'invert' || (step.type === 'stroke' && !step.erase));
}

function sinceClear(steps: readonly MaskStep[]): readonly MaskStep[] {
  return steps.slice(steps.findLastIndex(({ type }) => type === 'clear') + 1);
}

export interface MaskCanvas {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly color: string;
}

/** Draws all steps on a canvas that is transparent where nothing is painted. */
export function drawMask(canvas: MaskCanvas, steps: readonly MaskStep[]): void {
  canvas.context.globalCompositeOperation = 'source-over';
  canvas.context.clearRect(0, 0, canvas.width, canvas.height);
  for (const step of sinceClear(steps)) {
    if (step.type === 'stroke') drawStroke(canvas, step);
    else if (step.type === 'invert') drawInverted(canvas);
  }
}

function drawStroke({ context, width, height, color }: MaskCanvas, stroke: MaskStroke): void {
  const [first, ...rest] = stroke.points;
  if (!first) return;
  context.globalCompositeOperation = stroke.erase ? 'destination-out' : 'source-over';
  context.strokeStyle = color;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.lineWidth = Math.max(1, stroke.size * Math.max(width, height));
  context.beginPath();
  context.moveTo(first.x * width, first.y * height);
  // A line without length is a dot.
  for (const { x, y } of rest.length > 0 ? rest : [first]) context.lineTo(x * width, y * height);
  context.stroke();
}

function drawInverted({ context, width, height, color }: MaskCanvas): void {
  context.globalCompositeOperation = 'xor';
  context.fillStyle = color;
  context.fillRect(0, 0, width, height);
}

/** The mask as the API expects it: a PNG in base64, white where painted, else black. Undefined if nothing is painted. */
export function maskImage(steps: readonly MaskStep[], width: number, height: number): string | undefined {
  const context = contextOf(width, height);
  drawMask({ context, width, height, color: '#ffffff' }, steps);
  const { data } = context.getImageData(0, 0, width, height);
  if (!data.some((value, index) => index % 4 === 3 && value > 127)) return undefined;
  context.globalCompositeOperation = 'destination-over';
  context.fillStyle = '#000000';
  context.fillRect(0, 0, width, height);
  return context.canvas.toDataURL('image/png').replace(/^data:[^,]*,/, '');
}

function contextOf(width: number, height: number): CanvasRenderingContext2D {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser has no canvas.');
  return context;
}
