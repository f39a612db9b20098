import { ownerOf } from '../../core/owner.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { bodyOf } from '../endpoint.ts';
import { isObject, readFields } from '../fields.ts';
import { imageOf, type PictureParts } from '../pictures/request.ts';
import { clientOf } from '../ticket.ts';
import { refusalBody } from './errors.ts';
import { type PromptFields, promptFields } from './fields.ts';
import { annotatedName } from './files.ts';
import { GraphRefusal, readGraph } from './graph.ts';
import type { ComfyQueue } from './queue.ts';
import { runPlan } from './run.ts';
import { walkGraph } from './walk.ts';

/** Validates a graph and puts it into the queue. */
export async function queuePrompt(call: Call, parts: PictureParts, prompts: ComfyQueue): Promise<Reply> {
  const fields = readFields(promptFields, await bodyOf(call, 'object'));
  try {
    return json(added(call, fields, parts, prompts));
  } catch (error) {
    if (error instanceof GraphRefusal) return json(refusalBody(error.problem, error.nodeErrors), 400);
    throw error;
  }
}

function added(call: Call, fields: PromptFields, parts: PictureParts, prompts: ComfyQueue): object {
  const owner = ownerOf(call);
  const files = prompts.files.of(owner);
  const nodes = readGraph(fields.prompt);
  const hasFile = (name: string): boolean => {
    const place = annotatedName(name, 'input');
    return place !== undefined && files.get(place) !== undefined;
  };
  const loras = parts.taskServices?.image?.facts.loras?.map(({ file }) => file);
  const { plan, nodeErrors } = walkGraph(nodes, { hasFile, loras, targets: fields.partial_execution_targets });
  const image = imageOf(parts.taskServices);
  const wanted = fields.prompt_id;
  const id = wanted && wanted.length <= 200 && !prompts.has(wanted) ? wanted : prompts.newId();
  const texts = pictureTexts(fields);
  const number = prompts.add({
    id,
    fields,
    nodes,
    outputs: plan.outputs.map((output) => output.id),
    owner,
    ticket: { client: clientOf(call), part: fields.client_id ?? '', requestId: call.id, watch: call.watch },
    image,
    bytes: call.body.length,
    run: (running, turn) => runPlan(plan, running, { ...parts, image, turn, files, prompts, texts }),
  });
  return { prompt_id: id, number, node_errors: nodeErrors };
}

/** Longer texts are left out of the pictures. */
const longestText = 2 ** 20;

/** The graph and `extra_pnginfo`, which go into the pictures. */
function pictureTexts({ prompt, extra_data: extra }: PromptFields): Readonly<Record<string, string>> {
  const more = isObject(extra.extra_pnginfo) ? extra.extra_pnginfo : {};
  const texts = Object.entries({ prompt, ...more }).map(
    ([name, value]) => [name, JSON.stringify(value) ?? ''] as const,
  );
  return Object.fromEntries(texts.filter(([, text]) => text.length <= longestText));
}
