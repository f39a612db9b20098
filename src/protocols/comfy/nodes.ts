import { asAppError } from '../../core/errors.ts';
import type { RequestedLora } from '../../core/image.ts';
import type { Channel, Fit, Size } from '../../core/image-editing.ts';
import type { RequestedImage } from '../images/request.ts';
import { readImage, type SentImage } from '../images/sent-image.ts';
import type { Node } from './graph.ts';

/** The work of one node. Each step gives images: latents are kept as images too. */
export type Step =
  | { readonly type: 'load'; readonly name: string }
  | { readonly type: 'inline'; readonly picture: SentImage }
  | { readonly type: 'same'; readonly from: string }
  | { readonly type: 'scale'; readonly from: string; readonly to: Size | number; readonly fit: Fit }
  | { readonly type: 'enlarge'; readonly from: string; readonly upscaler: string }
  | {
      readonly type: 'draw';
      /** Without a size, that of the initial image. */
      readonly requested: RequestedImage;
      readonly from?: string | undefined;
      readonly mask?: MaskPlan | undefined;
      /** What cannot be done as requested. */
      readonly notes: readonly string[];
    };

/** An inpainting mask: a channel of an image that was sent. */
export interface MaskPlan {
  readonly from: { readonly name: string } | { readonly picture: SentImage };
  readonly channel: Channel;
  readonly inverted: boolean;
}

export interface Output {
  readonly id: string;
  readonly kind: 'output' | 'temp' | 'socket';
  readonly prefix: string;
  /** The node that gives the images. */
  readonly from: string;
  /** All nodes that it depends on, in topological order. */
  readonly order: readonly string[];
}

export interface Plan {
  readonly steps: ReadonlyMap<string, Step>;
  readonly outputs: readonly Output[];
}

/** How readers of nodes follow the inputs of a node. Throws for cycles. */
export interface Visitor {
  /** The id of the node that gives the images of this input, which must be linked. */
  pictures(node: Node, input: string): string;
  /** Reads the node behind this input, if it is linked. */
  through<Value>(node: Node, input: string, read: (source: Node, slot: number) => Value): Value | undefined;
  /** Only records the nodes behind this input as dependencies. */
  touch(node: Node, input: string): void;
  /** Whether an image of this name was sent. */
  readonly hasFile: (name: string) => boolean;
  /** File names of the LoRAs of the model. */
  readonly loras: readonly string[];
  /** By output of a node. Each is read once: the number of paths to it can be exponential. */
  readonly conditionings: Map<string, Conditioning>;
}

/** The step of a node that gives images. */
export function stepOf(node: Node, visitor: Visitor): Step {
  if (isSampler(node)) return readSampler(node, visitor);
  const read = Object.hasOwn(steps, node.classType) ? steps[node.classType] : undefined;
  if (!read) throw node.unknownClass();
  return read(node, visitor);
}

const steps: Readonly<Record<string, (node: Node, visitor: Visitor) => Step>> = {
  VAEDecode: coded('samples'),
  VAEDecodeTiled: coded('samples'),
  VAEEncode: coded('pixels'),
  VAEEncodeTiled: coded('pixels'),
  ImageScale: scaledTo('image'),
  ImageScaleBy: scaledBy('image'),
  LatentUpscale: scaledTo('samples'),
  LatentUpscaleBy: scaledBy('samples'),
  LoadImage: (node, visitor) => ({ type: 'load', name: fileName(node, visitor) }),
  ETN_LoadImageBase64: (node) => ({ type: 'inline', picture: inlineImage(node, 'image') }),
  ImageUpscaleWithModel: (node, visitor) => {
    const upscaler = node.link('upscale_model')?.node.text('model_name') ?? '';
    visitor.touch(node, 'upscale_model');
    return { type: 'enlarge', from: visitor.pictures(node, 'image'), upscaler };
  },
};

/** Conversion between pixels and latents. */
function coded(input: string) {
  return (node: Node, visitor: Visitor): Step => {
    visitor.touch(node, 'vae');
    return { type: 'same', from: visitor.pictures(node, input) };
  };
}

function scaledTo(input: string) {
  return (node: Node, visitor: Visitor): Step => {
    const from = visitor.pictures(node, input);
    const side = (name: string) => Math.round(node.number(name, 0, 16_384) ?? 512);
    const fit = node.text('crop') === 'center' ? 'cover' : 'fill';
    return { type: 'scale', from, to: { width: side('width'), height: side('height') }, fit };
  };
}

function scaledBy(input: string) {
  return (node: Node, visitor: Visitor): Step => {
    const from = visitor.pictures(node, input);
    return { type: 'scale', from, to: node.number('scale_by', 0.01, 8) ?? 1, fit: 'fill' };
  };
}

function fileName(node: Node, { hasFile }: Visitor): string {
  const name = node.text('image') ?? '';
  if (hasFile(name)) return name;
  const details = `image - Invalid image file: ${name.slice(0, 200)}`;
  throw node.notFound('image', 'custom_validation_failed', 'Custom validation failed for node', details, name);
}

/** An image inside the graph itself. */
function inlineImage(node: Node, input: string): SentImage {
  const data = node.text(input);
  if (data === undefined || data === '') throw node.missing(input);
  try {
    return readImage(data, input);
  } catch (error) {
    const { message } = asAppError(error);
    throw node.fault('custom_validation_failed', 'Custom validation failed for node', message);
  }
}

export function isSampler({ classType }: Node): boolean {
  return Object.hasOwn(samplers, classType);
}

function readSampler(node: Node, visitor: Visitor): Step {
  const own = readModel(node, visitor);
  const settings = samplers[node.classType]?.(node, visitor) ?? {};
  const { positive, negative, notes = [], loras: guided = [], ...requested } = settings;
  const loras = [...own, ...guided];
  const start = startBehind(node, 'latent_image', visitor);
  const conditioningNotes = [positive, negative].flatMap((conditioning) => conditioning?.notes ?? []);
  return {
    type: 'draw',
    from: start.from,
    mask: start.mask,
    notes: [...new Set([...conditioningNotes, ...notes, ...strengthNotes(node, start, requested)])],
    requested: {
      prompt: positive?.text ?? '',
      negativePrompt: negative?.text ?? '',
      clipSkip: Math.max(positive?.clipSkip ?? 0, negative?.clipSkip ?? 0),
      ...requested,
      ...start.size,
      count: start.count,
      ...(loras.length > 0 ? { loras } : {}),
    },
  };
}

interface Settings extends Partial<Omit<RequestedImage, 'prompt' | 'negativePrompt'>> {
  readonly positive?: Conditioning;
  readonly negative?: Conditioning | undefined;
  readonly notes?: readonly string[];
}

const samplers: Readonly<Record<string, (node: Node, visitor: Visitor) => Settings>> = {
  KSampler: (node, visitor) => ({
    ...prompts(node, visitor),
    ...schedule(node),
    seed: seedOf(node, 'seed'),
    sampler: node.text('sampler_name'),
  }),
  KSamplerAdvanced: (node, visitor) => {
    const all = stepsOf(node) ?? 20;
    const first = node.number('start_at_step', 0, 10_000) ?? 0;
    return {
      notes: advancedNotes(node, all, first),
      ...prompts(node, visitor),
      seed: seedOf(node, 'noise_seed'),
      steps: all,
      sampler: node.text('sampler_name'),
      scheduler: node.text('scheduler'),
      strength: Math.max(0, 1 - first / all),
    };
  },
  SamplerCustom: (node, visitor) => ({
    ...prompts(node, visitor),
    seed: seedOf(node, 'noise_seed'),
    ...linkedSchedule(node, visitor),
  }),
  SamplerCustomAdvanced: (node, visitor) => ({
    ...visitor.through(node, 'guider', (guider) => guiderOf(guider, visitor)),
    seed: visitor.through(node, 'noise', (noise) => seedOf(noise, 'noise_seed')),
    ...linkedSchedule(node, visitor),
  }),
};

function prompts(node: Node, visitor: Visitor): Settings {
  return {
    positive: neededConditioning(node, 'positive', visitor),
    negative: readConditioning(node, 'negative', visitor),
    guidance: node.number('cfg', 0, 100),
  };
}

function seedOf(node: Node, input: string): number | undefined {
  return node.number(input, 0, 2 ** 64);
}

function stepsOf(node: Node): number | undefined {
  return node.number('steps', 1, 10_000);
}

function schedule(node: Node): Settings {
  return { steps: stepsOf(node), scheduler: node.text('scheduler'), strength: node.number('denoise', 0, 1) ?? 1 };
}

/** Of samplers whose schedule and algorithm are separate nodes. */
function linkedSchedule(node: Node, visitor: Visitor): Settings {
  const sigmas = visitor.through(node, 'sigmas', (scheduler) => {
    readModel(scheduler, visitor);
    return schedule(scheduler);
  });
  return { ...sigmas, sampler: visitor.through(node, 'sampler', (one) => one.text('sampler_name')) };
}

/** All steps are always computed, and noise is always added first: intermediate latents do not exist. */
function advancedNotes(node: Node, all: number, first: number): readonly string[] {
  const last = node.number('end_at_step', 0, 10_000) ?? all;
  const notes = [
    last < all && `drawn to its end, step ${all}, and not to end_at_step ${last}`,
    node.text('add_noise') === 'disable' && first < all && 'add_noise is "disable", and noise was added all the same',
    node.text('return_with_leftover_noise') === 'enable' &&
      'return_with_leftover_noise is "enable", and no noise is left',
  ];
  return notes.flatMap((note) => (note ? [`KSamplerAdvanced ${node.id}: ${note}`] : []));
}

/** Without an initial image the strength has no effect. */
function strengthNotes({ id, classType }: Node, { from }: Start, { strength = 1 }: Settings): readonly string[] {
  if (from !== undefined || strength >= 1) return [];
  return [`${classType} ${id}: there is no picture to begin from, so that all steps were taken`];
}

function guiderOf(node: Node, visitor: Visitor): Settings {
  const loras = readModel(node, visitor);
  if (node.classType === 'CFGGuider') return { ...prompts(node, visitor), loras };
  if (node.classType !== 'BasicGuider') throw node.unknownClass();
  return { loras, positive: neededConditioning(node, 'conditioning', visitor), guidance: 1 };
}

/** What generation starts from: an empty latent of a size, or images. */
interface Start {
  readonly size?: { readonly width: number; readonly height: number };
  readonly from?: string;
  readonly mask?: MaskPlan;
  readonly count: number;
}

const emptyLatent = /^Empty\w*Latent(Image)?$/;

function startBehind(node: Node, input: string, visitor: Visitor): Start {
  const { classType } = node.neededLink(input).node;
  const read = emptyLatent.test(classType) ? readEmptyLatent : starts.get(classType);
  const start = read && visitor.through(node, input, (latent) => read(latent, visitor));
  return start ?? { from: visitor.pictures(node, input), count: 1 };
}

function readEmptyLatent(node: Node): Start {
  const side = (name: string) => node.number(name, 16, 16_384) ?? 512;
  return { size: { width: side('width'), height: side('height') }, count: batchOf(node, 'batch_size') };
}

function batchOf(node: Node, input: string): number {
  return node.number(input, 1, 4096) ?? 1;
}

const inpaint = (node: Node, visitor: Visitor): Start => {
  visitor.touch(node, 'vae');
  return { from: visitor.pictures(node, 'pixels'), mask: readMask(node, 'mask', visitor), count: 1 };
};

/** Latents with a mask or a number of images. */
const starts = new Map<string, (node: Node, visitor: Visitor) => Start>([
  ['LatentFromBatch', (node, visitor) => startBehind(node, 'samples', visitor)],
  [
    'RepeatLatentBatch',
    (node, visitor) => {
      const start = startBehind(node, 'samples', visitor);
      return { ...start, count: start.count * batchOf(node, 'amount') };
    },
  ],
  [
    'SetLatentNoiseMask',
    (node, visitor) => ({ ...startBehind(node, 'samples', visitor), mask: readMask(node, 'mask', visitor) }),
  ],
  ['VAEEncodeForInpaint', inpaint],
  ['InpaintModelConditioning', inpaint],
]);

function readMask(node: Node, input: string, visitor: Visitor): MaskPlan {
  const mask = visitor.through(node, input, (source, slot) => maskOf(source, slot, visitor));
  if (!mask) throw node.missing(input);
  return mask;
}

const channels: readonly Channel[] = ['alpha', 'red', 'green', 'blue'];

function maskOf(node: Node, slot: number, visitor: Visitor): MaskPlan {
  switch (node.classType) {
    case 'LoadImage': {
      if (slot === 1) return { from: { name: fileName(node, visitor) }, channel: 'alpha', inverted: true };
      const details = 'mask, received_type(IMAGE) mismatch input_type(MASK)';
      throw node.fault('return_type_mismatch', 'Return type mismatch between linked nodes', details);
    }
    case 'LoadImageMask': {
      const channel = channels.find((each) => each === node.text('channel')) ?? 'alpha';
      return { from: { name: fileName(node, visitor) }, channel, inverted: channel === 'alpha' };
    }
    case 'ETN_LoadMaskBase64':
      return { from: { picture: inlineImage(node, 'mask') }, channel: 'red', inverted: false };
    case 'InvertMask': {
      const mask = readMask(node, 'mask', visitor);
      return { ...mask, inverted: !mask.inverted };
    }
    default:
      throw node.unknownClass();
  }
}

export interface Conditioning {
  readonly text: string;
  /** Layers of the text encoder to skip; 0 for none. */
  readonly clipSkip: number;
  /** What has no effect here. */
  readonly notes: readonly string[];
}

/** More than any model reads. Bounds graphs that combine the same text again and again. */
const maxTextLength = 20_000;

function readConditioning(node: Node, input: string, visitor: Visitor): Conditioning | undefined {
  return visitor.through(node, input, (source, slot) => {
    const key = `${slot} ${source.id}`;
    const conditioning = visitor.conditionings.get(key) ?? conditioningOf(source, slot, visitor);
    visitor.conditionings.set(key, conditioning);
    return conditioning;
  });
}

function neededConditioning(node: Node, input: string, visitor: Visitor): Conditioning {
  const conditioning = readConditioning(node, input, visitor);
  if (!conditioning) throw node.missing(input);
  return conditioning;
}

/** Inputs with the text; the first that is not empty counts. */
const textInputs = new Map([
  ['CLIPTextEncode', ['text']],
  ['CLIPTextEncodeSDXL', ['text_g', 'text_l']],
  ['CLIPTextEncodeFlux', ['t5xxl', 'clip_l']],
]);

/** Inputs of nodes that pass conditionings on or combine them. */
const conditioningInputs = new Map([
  ['FluxGuidance', ['conditioning']],
  ['ConditioningCombine', ['conditioning_1', 'conditioning_2']],
  ['ConditioningConcat', ['conditioning_to', 'conditioning_from']],
]);

function conditioningOf(node: Node, slot: number, visitor: Visitor): Conditioning {
  const { classType } = node;
  if (classType === 'ConditioningZeroOut') return { text: '', clipSkip: 0, notes: [] };
  if (classType === 'InpaintModelConditioning') {
    return neededConditioning(node, slot === 1 ? 'negative' : 'positive', visitor);
  }
  const texts = textInputs.get(classType);
  if (texts) {
    const clipSkip = readClip(node, visitor);
    const text = texts.map((input) => node.text(input)).find((each) => each) ?? '';
    return { text, clipSkip, notes: guidanceNotes(node) };
  }
  const combined = conditioningInputs.get(classType)?.map((input) => neededConditioning(node, input, visitor));
  if (!combined) throw node.unknownClass();
  const words = combined.map(({ text }) => text).filter((text) => text !== '');
  return {
    text: words.join(', ').slice(0, maxTextLength),
    clipSkip: Math.max(...combined.map(({ clipSkip }) => clipSkip)),
    notes: [...new Set([...combined.flatMap(({ notes }) => notes), ...guidanceNotes(node)])],
  };
}

/** Distilled guidance, an input of some models beside the cfg of the sampler. */
function guidanceNotes(node: Node): readonly string[] {
  const guidance = node.number('guidance', 0, 100);
  if (guidance === undefined) return [];
  return [`${node.classType} ${node.id}: no model here takes a guidance (${guidance}); cfg of the sampler counts`];
}

/** The clip skip of the text encoder behind `clip`. */
function readClip(node: Node, visitor: Visitor): number {
  const skipped = visitor.through(node, 'clip', (clip) => {
    if (clip.classType === 'CLIPSetLastLayer') {
      const layer = clip.number('stop_at_clip_layer', -24, -1) ?? -1;
      const before = readClip(clip, visitor);
      return layer < -1 ? -layer : before;
    }
    // Only checked here: the LoRA itself is read with the model.
    if (isLora(clip)) loraOf(clip, visitor);
    return readClip(clip, visitor);
  });
  return skipped ?? 0;
}

/** The LoRAs behind `model`. The name of the model itself is ignored, since there is only one. */
function readModel(node: Node, visitor: Visitor): readonly RequestedLora[] {
  const loras = visitor.through(node, 'model', (model) => [
    ...(isLora(model) ? loraOf(model, visitor) : []),
    ...readModel(model, visitor),
  ]);
  return loras ?? [];
}

function isLora({ classType }: Node): boolean {
  return classType === 'LoraLoader' || classType === 'LoraLoaderModelOnly';
}

/** Throws for a file that does not exist, unless its strength is 0. */
function loraOf(node: Node, { loras }: Visitor): readonly RequestedLora[] {
  const weight = node.number('strength_model', -100, 100) ?? 1;
  if (weight === 0) return [];
  const name = node.text('lora_name') ?? '';
  if (loras.includes(name)) return [{ name, weight }];
  const details = `lora_name: '${name.slice(0, 200)}' not in ${JSON.stringify(loras)}`;
  throw node.notFound('lora_name', 'value_not_in_list', 'Value not in list', details, name);
}
