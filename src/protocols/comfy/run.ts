import { AppError } from '../../core/errors.ts';
import type { ImageRequest, ImageService, ImageTurn } from '../../core/image.ts';
import type { Size } from '../../core/pictures.ts';
import { collectDrawn } from '../pictures/drawn.ts';
import { pictureText } from '../pictures/picture-text.ts';
import { fitted, fittedMask, maskOfChannel } from '../pictures/pixels.ts';
import { withPngTexts } from '../pictures/png-text.ts';
import { imageRequest, type PictureParts, usualPreviewEvery } from '../pictures/request.ts';
import { pictureOf, type SentPicture } from '../pictures/sent-picture.ts';
import { enlargedSize, usualUpscaler } from '../pictures/upscaling.ts';
import { annotatedName, outputName } from './files.ts';
import type { MaskPlan, Output, Plan, Step } from './plan.ts';
import type { ComfyQueue, Outputs, Running } from './queue.ts';

export interface RunParts extends Pick<PictureParts, 'sizes' | 'randomSeed' | 'product' | 'now' | 'editor'> {
  readonly image: Pick<ImageService, 'facts'>;
  /** All steps of a prompt run in the one turn that it has in the queue. */
  readonly turn: ImageTurn;
  readonly prompts: Pick<ComfyQueue, 'files' | 'nextPicture'>;
  /** Written into every picture beside how it was made. */
  readonly texts: Readonly<Record<string, string>>;
}

/** A picture on its way, with the words about it. */
interface Made {
  readonly bytes: Uint8Array;
  readonly story?: string;
}

/** Runs every node once, in an order in which each finds what it needs. */
export async function runPlan({ steps, outputs }: Plan, running: Running, parts: RunParts): Promise<Outputs> {
  const made = new Map<string, readonly Made[]>();
  const done = new Set<string>();
  const found: Record<string, { readonly images: readonly object[] }> = {};
  for (const output of outputs) {
    for (const id of output.order.filter((each) => !done.has(each) && each !== output.id)) {
      parts.turn.signal.throwIfAborted();
      done.add(id);
      running.executing(id);
      const step = steps.get(id);
      if (step) made.set(id, await runStep(step, { id, made, running, parts }));
    }
    const isOwn = steps.has(output.id);
    if (isOwn && !made.has(output.id)) {
      running.executing(output.id);
      made.set(output.id, await runStep(steps.get(output.id) as Step, { id: output.id, made, running, parts }));
    } else if (!isOwn) running.executing(output.id);
    const images = deliver(output, made.get(output.from) ?? [], running, parts);
    if (output.kind === 'socket') continue;
    found[output.id] = { images };
    running.send('executed', { node: output.id, display_node: output.id, output: { images } });
  }
  return found;
}

interface StepWorld {
  readonly id: string;
  readonly made: ReadonlyMap<string, readonly Made[]>;
  readonly running: Running;
  readonly parts: RunParts;
}

async function runStep(step: Step, world: StepWorld): Promise<readonly Made[]> {
  const { made, parts } = world;
  switch (step.type) {
    case 'load':
      return [{ bytes: loaded(step.name, parts).bytes }];
    case 'inline':
      return [{ bytes: step.picture.bytes }];
    case 'same':
      return made.get(step.from) ?? [];
    case 'scale': {
      const pictures = made.get(step.from) ?? [];
      const { editor, turn } = parts;
      const scaled = (sent: SentPicture) => fitted(editor, sent, scaledSize(step.to, sent), step.fit, turn.signal);
      return Promise.all(pictures.map((picture) => changed(picture, scaled)));
    }
    case 'enlarge':
      return enlarged(step, world);
    case 'draw':
      return drawn(step, world);
  }
}

/** Of the networks that people use with this tool. */
const usualFactor = 4;

async function enlarged(step: Extract<Step, { type: 'enlarge' }>, world: StepWorld): Promise<readonly Made[]> {
  const { image, turn } = world.parts;
  const upscaler = usualUpscaler(step.upscaler, image.facts, usualFactor);
  if (!upscaler) throw new AppError('model-missing', { capability: 'upscaling', flag: '--sdupscaler FILE' });
  const { name, scale } = upscaler;
  const results: Made[] = [];
  for (const picture of world.made.get(step.from) ?? []) {
    const enlarge = ({ bytes, width, height }: SentPicture) => {
      const size = enlargedSize({ width: width * scale, height: height * scale });
      return turn.upscale({ picture: bytes, upscaler: name, ...size });
    };
    results.push(await changed(picture, enlarge));
  }
  return results;
}

async function drawn(step: Extract<Step, { type: 'draw' }>, world: StepWorld): Promise<readonly Made[]> {
  const { running, parts, id } = world;
  const { image, product, turn } = parts;
  for (const note of step.notes) running.note(note);
  const previewEvery = running.previews.wanted() ? usualPreviewEvery : 0;
  const request = { ...(await requestOf(step, world)), previewEvery };
  const told = (async function* () {
    for await (const event of turn.draw(request)) {
      if (event.type === 'progress') {
        running.send('progress', { value: event.step, max: event.steps, node: id });
        if (event.preview) running.previews.send(id, event.preview);
      }
      yield event;
    }
  })();
  const result = await collectDrawn(told, request);
  for (const note of result.notes) running.note(note);
  if (result.stopped) throw new AppError('stopped', {});
  const text = { request, drawn: result, facts: image.facts, product };
  return result.pictures.map(({ png, seed }) => ({ bytes: png, story: pictureText(text, seed) }));
}

async function requestOf(step: Extract<Step, { type: 'draw' }>, { made, parts }: StepWorld): Promise<ImageRequest> {
  const { facts } = parts.image;
  if (step.from === undefined) return imageRequest(step.asked, facts, parts);
  const [first] = made.get(step.from) ?? [];
  if (!first) throw new AppError('engine-failed', { capability: 'image', reason: 'there is no picture to begin from' });
  const initial = pictureOf(first.bytes, 'pixels');
  const request = imageRequest({ ...step.asked, width: initial.width, height: initial.height }, facts, parts);
  const size = { width: request.width, height: request.height };
  const mask = step.mask ? { mask: await paintedMask(step.mask, size, parts) } : {};
  return { ...request, initial: await fitted(parts.editor, initial, size, 'cover', parts.turn.signal), ...mask };
}

async function paintedMask({ from, channel, inverted }: MaskPlan, size: Size, parts: RunParts): Promise<Uint8Array> {
  const picture = 'name' in from ? loaded(from.name, parts) : from.picture;
  const { editor, turn } = parts;
  const shape = { size, fit: 'cover', signal: turn.signal } as const;
  const mask = await maskOfChannel(editor, picture, channel, { ...shape, inverted });
  if (mask) return mask;
  // A picture that is nowhere transparent: with the mask turned around, all of it is meant.
  if (!inverted) return fittedMask(editor, picture, { ...shape, all: true });
  throw new AppError('engine-failed', {
    capability: 'image',
    reason: 'the mask is empty, and nothing would be painted',
  });
}

function loaded(name: string, { prompts }: RunParts): SentPicture {
  const place = annotatedName(name, 'input');
  const file = place && prompts.files.get(place);
  if (!file) throw new AppError('not-stored', { what: 'picture', id: name });
  return pictureOf(file.bytes, 'image');
}

async function changed({ bytes, story }: Made, change: (sent: SentPicture) => Promise<Uint8Array>): Promise<Made> {
  return { bytes: await change(pictureOf(bytes, 'image')), ...(story === undefined ? {} : { story }) };
}

/** A side of 0 follows the other one, as in the original. */
function scaledSize(to: Size | number, { width, height }: Size): Size {
  if (typeof to === 'number') return enlargedSize({ width: width * to, height: height * to });
  return enlargedSize({
    width: to.width || (to.height ? (to.height * width) / height : width),
    height: to.height || (to.width ? (to.width * height) / width : height),
  });
}

function deliver(
  { id, kind, prefix }: Output,
  made: readonly Made[],
  running: Running,
  parts: RunParts,
): readonly object[] {
  const { prompts, texts, now } = parts;
  return made.flatMap(({ bytes, story }, index) => {
    const { width, height, format } = pictureOf(bytes, 'images');
    const words = { ...(story === undefined ? {} : { parameters: story }), ...texts };
    const png = format === 'png' ? withPngTexts(bytes, words) : bytes;
    if (kind === 'socket') {
      running.send('progress', { value: index, max: made.length, node: id });
      running.sendPicture(png);
      return [];
    }
    const filled = prefix.replaceAll('%width%', String(width)).replaceAll('%height%', String(height));
    const place = { ...outputName(filled, prompts.nextPicture(), new Date(now())), type: kind };
    prompts.files.put(place, { bytes: png, contentType: `image/${format}` });
    return [{ filename: place.name, subfolder: place.subfolder, type: place.type }];
  });
}
