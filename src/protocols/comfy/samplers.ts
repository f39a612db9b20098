import type { AskedPicture } from '../pictures/request.ts';
import { type Conditioning, neededConditioning, readConditioning, readModel } from './conditioning.ts';
import { follow, linkOf, missing, type Node, unknownClass } from './graph.ts';
import { readMask } from './masks.ts';
import type { MaskPlan, Step } from './plan.ts';
import { numberOf, textOf } from './values.ts';
import type { Visitor } from './visitor.ts';

export function isSampler({ classType }: Node): boolean {
  return Object.hasOwn(samplers, classType);
}

/** One drawing, from its sampler and all that leads to it. */
export function readSampler(node: Node, visitor: Visitor): Step {
  const own = readModel(node, visitor);
  const settings = samplers[node.classType]?.(node, visitor) ?? {};
  const { positive, negative, notes = [], loras: guided = [], ...asked } = settings;
  const loras = [...own, ...guided];
  const start = startBehind(node, 'latent_image', visitor);
  const told = [positive, negative].flatMap((conditioning) => conditioning?.notes ?? []);
  return {
    type: 'draw',
    from: start.from,
    mask: start.mask,
    notes: [...new Set([...told, ...notes, ...laterStart(node, start, asked)])],
    asked: {
      prompt: positive?.text ?? '',
      negativePrompt: negative?.text ?? '',
      clipSkip: Math.max(positive?.clipSkip ?? 0, negative?.clipSkip ?? 0),
      ...asked,
      ...start.size,
      count: start.count,
      ...(loras.length > 0 ? { loras } : {}),
    },
  };
}

type Asked = Partial<Omit<AskedPicture, 'prompt' | 'negativePrompt'>>;
interface Settings extends Asked {
  readonly positive?: Conditioning;
  readonly negative?: Conditioning | undefined;
  readonly notes?: readonly string[];
}

const steps = { least: 1, most: 10_000 };
const seeds = { least: 0, most: 2 ** 64 };
const guidance = { least: 0, most: 100 };
const share = { least: 0, most: 1 };
const places = { least: 0, most: 10_000 };

/** The same words of all samplers that say them themselves. */
function prompts(node: Node, visitor: Visitor): Settings {
  return {
    positive: neededConditioning(node, 'positive', visitor),
    negative: readConditioning(node, 'negative', visitor),
    guidance: numberOf(visitor.graph, node, 'cfg', guidance),
  };
}

const samplers: Readonly<Record<string, (node: Node, visitor: Visitor) => Settings>> = {
  KSampler: (node, visitor) => ({
    ...prompts(node, visitor),
    seed: numberOf(visitor.graph, node, 'seed', seeds),
    steps: numberOf(visitor.graph, node, 'steps', steps),
    sampler: textOf(visitor.graph, node, 'sampler_name'),
    scheduler: textOf(visitor.graph, node, 'scheduler'),
    strength: numberOf(visitor.graph, node, 'denoise', share) ?? 1,
  }),
  KSamplerAdvanced: (node, visitor) => {
    const all = numberOf(visitor.graph, node, 'steps', steps) ?? 20;
    const first = numberOf(visitor.graph, node, 'start_at_step', places) ?? 0;
    return {
      notes: advancedNotes(node, { all, first }, visitor),
      ...prompts(node, visitor),
      seed: numberOf(visitor.graph, node, 'noise_seed', seeds),
      steps: all,
      sampler: textOf(visitor.graph, node, 'sampler_name'),
      scheduler: textOf(visitor.graph, node, 'scheduler'),
      strength: Math.max(0, 1 - first / all),
    };
  },
  SamplerCustom: (node, visitor) => ({
    ...prompts(node, visitor),
    seed: numberOf(visitor.graph, node, 'noise_seed', seeds),
    ...sigmas(node, visitor),
    ...chosen(node, visitor),
  }),
  SamplerCustomAdvanced: (node, visitor) => ({
    ...visitor.through(node, 'guider', (guider) => guiderOf(guider, visitor)),
    seed: visitor.through(node, 'noise', (noise) => numberOf(visitor.graph, noise, 'noise_seed', seeds)),
    ...sigmas(node, visitor),
    ...chosen(node, visitor),
  }),
};

/** A picture is always drawn to its end, and begins with noise: nobody sees what lies between. */
function advancedNotes(
  node: Node,
  { all, first }: { readonly all: number; readonly first: number },
  { graph }: Visitor,
): readonly string[] {
  const last = numberOf(graph, node, 'end_at_step', places) ?? all;
  const told = `KSamplerAdvanced ${node.id}`;
  return [
    ...(last < all ? [`${told}: drawn to its end, step ${all}, and not to end_at_step ${last}`] : []),
    ...(textOf(graph, node, 'add_noise') === 'disable' && first < all
      ? [`${told}: add_noise is "disable", and noise was added all the same`]
      : []),
    ...(textOf(graph, node, 'return_with_leftover_noise') === 'enable'
      ? [`${told}: return_with_leftover_noise is "enable", and no noise is left`]
      : []),
  ];
}

/** Where there is nothing to keep, a drawing begins at its beginning. */
function laterStart({ id, classType }: Node, { from }: Start, { strength = 1 }: Asked): readonly string[] {
  if (from !== undefined || strength >= 1) return [];
  return [`${classType} ${id}: there is no picture to begin from, so that all steps were taken`];
}

function sigmas(node: Node, visitor: Visitor): Asked {
  const found = visitor.through(node, 'sigmas', (scheduler): Asked => {
    readModel(scheduler, visitor);
    return {
      steps: numberOf(visitor.graph, scheduler, 'steps', steps),
      scheduler: textOf(visitor.graph, scheduler, 'scheduler'),
      strength: numberOf(visitor.graph, scheduler, 'denoise', share) ?? 1,
    };
  });
  return found ?? {};
}

function chosen(node: Node, visitor: Visitor): Asked {
  return { sampler: visitor.through(node, 'sampler', (one) => textOf(visitor.graph, one, 'sampler_name')) };
}

function guiderOf(node: Node, visitor: Visitor): Settings {
  const loras = readModel(node, visitor);
  if (node.classType === 'CFGGuider') return { ...prompts(node, visitor), loras };
  if (node.classType !== 'BasicGuider') throw unknownClass(node);
  return { loras, positive: neededConditioning(node, 'conditioning', visitor), guidance: 1 };
}

/** What a drawing begins from: nothing but a size, or pictures. */
interface Start {
  readonly size?: { readonly width: number; readonly height: number };
  readonly from?: string;
  readonly mask?: MaskPlan;
  readonly count: number;
}

const sides = { least: 16, most: 16_384 };
const batches = { least: 1, most: 4096 };

/** Latents that are more than pictures nobody looks at. */
const starts =
  /^(Empty\w*Latent(Image)?|LatentFromBatch|RepeatLatentBatch|SetLatentNoiseMask|VAEEncodeForInpaint|InpaintModelConditioning)$/;

function startBehind(node: Node, input: string, visitor: Visitor): Start {
  const link = linkOf(node, input);
  if (!link) throw missing(node, input);
  const { classType } = follow(visitor.graph, node, input, link);
  const start = starts.test(classType) ? visitor.through(node, input, (found) => startOf(found, visitor)) : undefined;
  return start ?? { from: visitor.pictures(node, input), count: 1 };
}

function startOf(node: Node, visitor: Visitor): Start {
  const { graph } = visitor;
  const { classType } = node;
  if (/^Empty\w*Latent(Image)?$/.test(classType)) {
    const [width = 512, height = 512] = ['width', 'height'].map((side) => numberOf(graph, node, side, sides));
    return { size: { width, height }, count: numberOf(graph, node, 'batch_size', batches) ?? 1 };
  }
  if (classType === 'LatentFromBatch') return startBehind(node, 'samples', visitor);
  if (classType === 'RepeatLatentBatch') {
    const start = startBehind(node, 'samples', visitor);
    return { ...start, count: start.count * (numberOf(graph, node, 'amount', batches) ?? 1) };
  }
  if (classType === 'SetLatentNoiseMask') {
    return { ...startBehind(node, 'samples', visitor), mask: readMask(node, 'mask', visitor) };
  }
  if (classType === 'VAEEncodeForInpaint' || classType === 'InpaintModelConditioning') {
    visitor.touch(node, 'vae');
    return { from: visitor.pictures(node, 'pixels'), mask: readMask(node, 'mask', visitor), count: 1 };
  }
  throw unknownClass(node);
}
