import type { ImageTurn } from '../../core/image.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { isObject } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { imageOf, type PictureParts } from '../pictures/request.ts';
import { clientName } from '../ticket.ts';
import { GraphRefusal, refusalReply } from './errors.ts';
import { type PromptFields, promptFields } from './fields.ts';
import { annotatedName } from './files.ts';
import { readGraph } from './graph.ts';
import type { ComfyQueue, Running } from './queue.ts';
import { runPlan } from './run.ts';
import { walkGraph } from './walk.ts';

export interface PromptParts extends PictureParts {
  readonly prompts: ComfyQueue;
}

/** Takes a graph in: it is validated and takes its place in the queue now, and is drawn when its turn comes. */
export async function takePrompt(call: Call, parts: PromptParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'object', signal: call.signal });
  const fields = readFields(promptFields, body);
  try {
    return json(queuePrompt(call, fields, parts));
  } catch (error) {
    if (error instanceof GraphRefusal) return refusalReply(error);
    throw error;
  }
}

function queuePrompt(call: Call, fields: PromptFields, parts: PromptParts): object {
  const { prompts } = parts;
  const nodes = readGraph(fields.prompt);
  const hasFile = (name: string): boolean => {
    const place = annotatedName(name, 'input');
    return place !== undefined && prompts.files.get(place) !== undefined;
  };
  const loras = parts.others?.image?.facts.loras?.map(({ file }) => file);
  const { plan, nodeErrors } = walkGraph(nodes, { hasFile, loras, targets: fields.partial_execution_targets });
  const image = imageOf(parts.others);
  const wanted = fields.prompt_id;
  const id = wanted && wanted.length <= 200 && !prompts.has(wanted) ? wanted : prompts.newId();
  const texts = pictureTexts(fields);
  const run = (running: Running, turn: ImageTurn) => runPlan(plan, running, { ...parts, image, turn, prompts, texts });
  const number = prompts.add({
    id,
    graph: fields.prompt as object,
    nodes,
    extraData: { ...fields.extra_data, create_time: parts.now() },
    outputs: plan.outputs.map((output) => output.id),
    client: fields.client_id,
    sharesTurnsAs: { client: clientName(call), part: fields.client_id ?? '' },
    image,
    number: fields.number,
    front: fields.front,
    bytes: call.body.length,
    run,
  });
  return { prompt_id: id, number, node_errors: nodeErrors };
}

/** More would make each picture larger than itself. */
const longestText = 2 ** 20;

/** The graph, and what the client wants to find in its pictures again. */
function pictureTexts({ prompt, extra_data: extra }: PromptFields): Readonly<Record<string, string>> {
  const more = isObject(extra.extra_pnginfo) ? extra.extra_pnginfo : {};
  const texts = Object.entries({ prompt, ...more }).map(
    ([name, value]) => [name, JSON.stringify(value) ?? ''] as const,
  );
  return Object.fromEntries(texts.filter(([, text]) => text.length <= longestText));
}
