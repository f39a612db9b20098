import { AppError } from '../../core/errors.ts';
import type {
  GraphEvent,
  GraphFile,
  GraphRequest,
  ImageEvent,
  ImageRequest,
  ImageService,
  ImageTurn,
} from '../../core/image.ts';
import type { Size } from '../../core/image-editing.ts';
import { isObject } from '../fields.ts';
import { withPngTexts } from '../images/image-header.ts';
import { imageInfotext } from '../images/infotext.ts';
import {
  chooseUpscaler,
  collectImages,
  defaultPreviewEvery,
  enlargedSize,
  type ImageContext,
  imageRequest,
} from '../images/request.ts';
import { fitted, fittedMask, maskOfChannel, type SentImage, sentImage } from '../images/sent-image.ts';
import { type OwnFiles, outputName } from './files.ts';
import type { MaskPlan, Output, Plan, Step } from './nodes.ts';
import type { ComfyQueue, Outputs, Running } from './queue.ts';

interface RunDeps extends Pick<ImageContext, 'settings' | 'randomSeed' | 'product' | 'now' | 'editor'> {
  readonly image: Pick<ImageService, 'facts'>;
  /** All steps of a prompt run in one turn of the queue. */
  readonly turn: ImageTurn;
  readonly prompts: Pick<ComfyQueue, 'nextImage'>;
  /** Of the owner of the prompt. */
  readonly files: OwnFiles;
  /** Written into every image, beside its parameters. */
  readonly texts: Readonly<Record<string, string>>;
}

/** An image between two steps, with its infotext. */
interface StepImage {
  readonly bytes: Uint8Array;
  readonly parameters?: string;
}

interface Run {
  /** By the node that gives them. */
  readonly images: Map<string, readonly StepImage[]>;
  readonly running: Running;
  readonly deps: RunDeps;
}

/** Runs every node once, in topological order. */
export async function runPlan({ steps, outputs }: Plan, running: Running, deps: RunDeps): Promise<Outputs> {
  const run: Run = { images: new Map(), running, deps };
  const done = new Set<string>();
  const results: Record<string, { readonly images: readonly object[] }> = {};
  for (const output of outputs) {
    const { id, order } = output;
    for (const each of order.filter((one) => !done.has(one) || one === id)) {
      deps.turn.signal.throwIfAborted();
      done.add(each);
      running.executing(each);
      const step = steps.get(each);
      if (step) run.images.set(each, await runStep(step, each, run));
    }
    const images = deliver(output, run);
    if (output.kind === 'socket') continue;
    results[id] = { images };
    running.send('executed', { node: id, display_node: id, output: { images } });
  }
  return results;
}

async function runStep(step: Step, id: string, run: Run): Promise<readonly StepImage[]> {
  const { images, deps } = run;
  switch (step.type) {
    case 'load':
      return [{ bytes: loaded(step.name, deps).bytes }];
    case 'inline':
      return [{ bytes: step.picture.bytes }];
    case 'same':
      return images.get(step.from) ?? [];
    case 'scale': {
      const { editor, turn } = deps;
      const scale = (sent: SentImage) => fitted(editor, sent, scaledSize(step.to, sent), step.fit, turn.signal);
      return Promise.all((images.get(step.from) ?? []).map((picture) => changed(picture, scale)));
    }
    case 'enlarge':
      return enlarged(step, run);
    case 'draw':
      return generated(step, id, run);
  }
}

/** Factor of most upscaling models of ComfyUI. */
const defaultFactor = 4;

async function enlarged(
  step: Extract<Step, { type: 'enlarge' }>,
  { images, deps }: Run,
): Promise<readonly StepImage[]> {
  const { image, turn } = deps;
  const upscaler = chooseUpscaler(step.upscaler, image.facts, defaultFactor);
  if (!upscaler) throw new AppError('model-missing', { capability: 'upscaling', flag: '--sdupscaler FILE' });
  const { name, scale } = upscaler;
  const enlarge = ({ bytes, width, height }: SentImage) =>
    turn.upscale({ image: bytes, upscaler: name, ...enlargedSize({ width: width * scale, height: height * scale }) });
  const results: StepImage[] = [];
  for (const picture of images.get(step.from) ?? []) results.push(await changed(picture, enlarge));
  return results;
}

async function generated(step: Extract<Step, { type: 'draw' }>, id: string, run: Run): Promise<readonly StepImage[]> {
  const { running, deps } = run;
  const { image, product, turn } = deps;
  for (const note of step.notes) running.note(note);
  const previewEvery = running.wantsPreviews() ? defaultPreviewEvery : 0;
  const request = { ...(await requestOf(step, run)), previewEvery };
  const reported = async function* (): AsyncGenerator<ImageEvent> {
    for await (const event of turn.generate(request)) {
      if (event.type === 'progress') {
        running.send('progress', { value: event.step, max: event.steps, node: id });
        if (event.preview) running.sendPreview(id, event.preview);
      }
      yield event;
    }
  };
  const result = await collectImages(reported(), request);
  for (const note of result.notes) running.note(note);
  if (result.stopped) throw new AppError('stopped', {});
  const text = { request, drawn: result, facts: image.facts, product };
  return result.pictures.map(({ png, seed }) => ({ bytes: png, parameters: imageInfotext(text, seed) }));
}

async function requestOf(step: Extract<Step, { type: 'draw' }>, { images, deps }: Run): Promise<ImageRequest> {
  const { facts } = deps.image;
  if (step.from === undefined) return imageRequest(step.requested, facts, deps);
  const [first] = images.get(step.from) ?? [];
  if (!first) throw new AppError('engine-failed', { capability: 'image', reason: 'there is no picture to begin from' });
  const initial = sentImage(first.bytes, 'pixels');
  const request = imageRequest({ ...step.requested, width: initial.width, height: initial.height }, facts, deps);
  const mask = step.mask ? { mask: await paintedMask(step.mask, request, deps) } : {};
  return { ...request, initial: await fitted(deps.editor, initial, request, 'cover', deps.turn.signal), ...mask };
}

async function paintedMask({ from, channel, inverted }: MaskPlan, size: Size, deps: RunDeps): Promise<Uint8Array> {
  const picture = 'name' in from ? loaded(from.name, deps) : from.picture;
  const { editor, turn } = deps;
  const shape = { size, fit: 'cover', signal: turn.signal } as const;
  const mask = await maskOfChannel(editor, picture, channel, { ...shape, inverted });
  if (mask) return mask;
  // An opaque image with an inverted mask: everything is painted.
  if (!inverted) return fittedMask(editor, picture, { ...shape, all: true });
  const reason = 'the mask is empty, and nothing would be painted';
  throw new AppError('engine-failed', { capability: 'image', reason });
}

function loaded(name: string, { files }: RunDeps): SentImage {
  const file = files.named(name);
  if (!file) throw new AppError('not-stored', { what: 'picture', id: name });
  return sentImage(file.bytes, 'image');
}

async function changed(picture: StepImage, change: (sent: SentImage) => Promise<Uint8Array>): Promise<StepImage> {
  return { ...picture, bytes: await change(sentImage(picture.bytes, 'image')) };
}

/** A side of 0 follows from the other one, as in the original. */
function scaledSize(to: Size | number, { width, height }: Size): Size {
  if (typeof to === 'number') return enlargedSize({ width: width * to, height: height * to });
  return enlargedSize({
    width: to.width || (to.height ? (to.height * width) / height : width),
    height: to.height || (to.width ? (to.width * height) / width : height),
  });
}

/** Stores or sends the images of an output. */
function deliver({ id, kind, prefix, from }: Output, { images, running, deps }: Run): readonly object[] {
  const { prompts, files, texts, now } = deps;
  const pictures = images.get(from) ?? [];
  return pictures.flatMap(({ bytes, ...parameters }, index) => {
    const { width, height, format } = sentImage(bytes, 'images');
    const png = format === 'png' ? withPngTexts(bytes, { ...parameters, ...texts }) : bytes;
    if (kind === 'socket') {
      running.send('progress', { value: index, max: pictures.length, node: id });
      running.sendImage(png);
      return [];
    }
    const filled = prefix.replaceAll('%width%', String(width)).replaceAll('%height%', String(height));
    const { subfolder, name } = outputName(filled, prompts.nextImage(), new Date(now()));
    files.put({ type: kind, subfolder, name }, { bytes: png, contentType: `image/${format}` });
    return [{ filename: name, subfolder, type: kind }];
  });
}

/** Runs a graph as it is on the backend. Its files are stored here, among those of the owner of the prompt. */
export async function runGraph(
  request: Omit<GraphRequest, 'file'>,
  running: Running,
  { turn, files }: { readonly turn: Pick<ImageTurn, 'graph'>; readonly files: OwnFiles },
): Promise<Outputs> {
  const file = (name: string): Uint8Array | undefined => files.named(name)?.bytes;
  let outputs: Outputs = {};
  for await (const event of turn.graph({ ...request, file })) {
    if (event.type === 'outputs') outputs = event.outputs;
    else if (event.type === 'preview') running.sendBinary(event.bytes);
    else if (event.type === 'file') store(event.file, files);
    else report(event, running);
  }
  return outputs;
}

function report({ name, data }: Extract<GraphEvent, { type: 'event' }>, running: Running): void {
  if (name === 'executing') running.executing(String(data.node ?? ''));
  else running.send(name, data);
}

const types = ['input', 'output', 'temp'] as const;

function store({ filename, subfolder, type, bytes }: GraphFile, files: OwnFiles): void {
  const known = types.find((one) => one === type) ?? 'output';
  files.put({ type: known, subfolder, name: filename }, { bytes, contentType: contentTypeOf(filename) });
}

const contentTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mkv: 'video/x-matroska',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  opus: 'audio/ogg',
  ogg: 'audio/ogg',
};

/** Anything else is never shown by a browser: a page of another server would run with the rights of this one. */
function contentTypeOf(filename: string): string {
  return contentTypes[filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()] ?? 'application/octet-stream';
}

/** Nodes that no other one uses. */
export function endNodes(graph: Readonly<Record<string, unknown>>): readonly string[] {
  const used = new Set<string>();
  for (const node of Object.values(graph)) {
    const inputs = isObject(node) && isObject(node.inputs) ? Object.values(node.inputs) : [];
    for (const input of inputs) if (Array.isArray(input)) used.add(String(input[0]));
  }
  return Object.keys(graph).filter((id) => !used.has(id));
}

/** The classes of nodes of a backend, with the client's own files to choose from instead of all that were ever sent there. */
export function withOwnFiles(
  classes: Readonly<Record<string, unknown>>,
  sent: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(classes).map(([name, value]) => [name, withOwnChoices(value, sent)]));
}

const uploads = ['image_upload', 'video_upload', 'audio_upload', 'file_upload'];

function withOwnChoices(value: unknown, sent: readonly string[]): unknown {
  if (!isObject(value) || !isObject(value.input)) return value;
  const own = (input: unknown): unknown => {
    if (!Array.isArray(input) || !isObject(input[1]) || !uploads.some((name) => input[1][name] === true)) return input;
    const [choices, { options, ...more }] = input;
    // Newer versions have the list beside its type.
    if (Array.isArray(choices)) return [sent, { ...more, ...(options !== undefined && { options: sent }) }];
    return [choices, { ...more, options: sent }];
  };
  const groups = Object.entries(value.input).map(([group, inputs]) => [
    group,
    isObject(inputs) ? Object.fromEntries(Object.entries(inputs).map(([name, one]) => [name, own(one)])) : inputs,
  ]);
  return { ...value, input: Object.fromEntries(groups) };
}
