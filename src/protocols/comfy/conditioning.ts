import type { AskedLora } from '../../core/image.ts';
import { NodeFault } from './errors.ts';
import { missing, type Node, unknownClass } from './graph.ts';
import { numberOf, textOf } from './values.ts';
import type { Visitor } from './visitor.ts';

/** What a prompt of a graph says. */
export interface Conditioning {
  readonly text: string;
  /** Layers of the text encoder to leave out; 0 for none. */
  readonly clipSkip: number;
  /** What of it has no effect here. */
  readonly notes: readonly string[];
}

/** More than any model reads; nodes that put the same together again and again would not end. */
const longestText = 20_000;

const nothing: Conditioning = { text: '', clipSkip: 0, notes: [] };

export function readConditioning(node: Node, input: string, visitor: Visitor): Conditioning | undefined {
  return visitor.through(node, input, (found, slot) => remembered(found, slot, visitor));
}

const known = new WeakMap<Visitor, Map<string, Conditioning>>();

/** Read once, however many ways lead there: there may be more of them than anybody can walk. */
function remembered(node: Node, slot: number, visitor: Visitor): Conditioning {
  const all = known.get(visitor) ?? new Map<string, Conditioning>();
  known.set(visitor, all);
  const name = `${slot} ${node.id}`;
  const conditioning = all.get(name) ?? conditioningOf(node, slot, visitor);
  all.set(name, conditioning);
  return conditioning;
}

export function neededConditioning(node: Node, input: string, visitor: Visitor): Conditioning {
  const found = readConditioning(node, input, visitor);
  if (!found) throw missing(node, input);
  return found;
}

function conditioningOf(node: Node, slot: number, visitor: Visitor): Conditioning {
  const { classType } = node;
  const { graph } = visitor;
  if (classType === 'ConditioningZeroOut') return nothing;
  if (classType === 'InpaintModelConditioning') {
    return neededConditioning(node, slot === 1 ? 'negative' : 'positive', visitor);
  }
  if (Object.hasOwn(texts, classType)) {
    const clipSkip = readClip(node, visitor);
    const text = texts[classType]?.map((input) => textOf(graph, node, input)).find((each) => each);
    return { text: text ?? '', clipSkip, notes: guidanceNotes(node, visitor) };
  }
  if (Object.hasOwn(passing, classType)) {
    const all = (passing[classType] ?? []).map((input) => neededConditioning(node, input, visitor));
    const words = all.map(({ text }) => text).filter((text) => text !== '');
    return {
      text: words.join(', ').slice(0, longestText),
      clipSkip: Math.max(...all.map(({ clipSkip }) => clipSkip)),
      notes: [...new Set([...all.flatMap(({ notes }) => notes), ...guidanceNotes(node, visitor)])],
    };
  }
  throw unknownClass(node);
}

/** Nodes that hold the words, and where, the first that has some counting. */
const texts: Readonly<Record<string, readonly string[]>> = {
  CLIPTextEncode: ['text'],
  CLIPTextEncodeSDXL: ['text_g', 'text_l'],
  CLIPTextEncodeFlux: ['t5xxl', 'clip_l'],
};

/** Nodes that hand on what others say. */
const passing: Readonly<Record<string, readonly string[]>> = {
  FluxGuidance: ['conditioning'],
  ConditioningCombine: ['conditioning_1', 'conditioning_2'],
  ConditioningConcat: ['conditioning_to', 'conditioning_from'],
};

/** Guidance that a model was trained to be told, beside that of the sampler. */
function guidanceNotes(node: Node, { graph }: Visitor): readonly string[] {
  const guidance = numberOf(graph, node, 'guidance', { least: 0, most: 100 });
  if (guidance === undefined) return [];
  return [`${node.classType} ${node.id}: no model here is told a guidance (${guidance}); cfg of the sampler counts`];
}

/** The text encoder, through whatever changes it on the way. */
function readClip(node: Node, visitor: Visitor): number {
  const found = visitor.through(node, 'clip', (clip) => {
    if (clip.classType === 'CLIPSetLastLayer') {
      const layer = numberOf(visitor.graph, clip, 'stop_at_clip_layer', { least: -24, most: -1 }) ?? -1;
      const before = readClip(clip, visitor);
      return layer < -1 ? -layer : before;
    }
    // It is the same node that changes the model.
    if (isLora(clip)) loraOf(clip, visitor);
    return readClip(clip, visitor);
  });
  return found ?? 0;
}

/** The model, whose name is only informative, since there is one; and what it is to be changed by. */
export function readModel(node: Node, visitor: Visitor): readonly AskedLora[] {
  const found = visitor.through(node, 'model', (model) => [
    ...(isLora(model) ? loraOf(model, visitor) : []),
    ...readModel(model, visitor),
  ]);
  return found ?? [];
}

function isLora({ classType }: Node): boolean {
  return classType === 'LoraLoader' || classType === 'LoraLoaderModelOnly';
}

/** Throws for a file that is not there; one without any strength would change nothing anyway. */
function loraOf(node: Node, { graph, loras }: Visitor): readonly AskedLora[] {
  const weight = numberOf(graph, node, 'strength_model', { least: -100, most: 100 }) ?? 1;
  if (weight === 0) return [];
  const name = textOf(graph, node, 'lora_name') ?? '';
  if (loras.includes(name)) return [{ name, weight }];
  throw new NodeFault(node, {
    type: 'value_not_in_list',
    message: 'Value not in list',
    details: `lora_name: '${name.slice(0, 200)}' not in ${JSON.stringify(loras)}`,
    extra_info: { input_name: 'lora_name', received_value: name.slice(0, 200) },
  });
}
