import { AppError } from '../../core/errors.ts';
import type { RunsGraphs } from '../../core/image.ts';
import { ownerOf } from '../../core/owner.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { bodyOf } from '../endpoint.ts';
import { isObject, readFields } from '../fields.ts';
import { type ImageContext, imageOf } from '../images/request.ts';
import { clientOf } from '../request-context.ts';
import { refusalBody } from './errors.ts';
import { type PromptFields, promptFields } from './fields.ts';
import { type Graph, GraphRefusal, readGraph } from './graph.ts';
import type { ComfyQueue } from './queue.ts';
import { endNodes, runGraph, runPlan } from './run.ts';
import { type WalkOptions, walkGraph } from './walk.ts';

/** Validates a graph and puts it into the queue. */
export async function queuePrompt(call: Call, context: ImageContext, prompts: ComfyQueue): Promise<Reply> {
  const fields = readFields(promptFields, await bodyOf(call, 'object'));
  try {
    return json(added(call, fields, context, prompts));
  } catch (error) {
    if (error instanceof GraphRefusal) return json(refusalBody(error.problem, error.nodeErrors), 400);
    throw error;
  }
}

function added(call: Call, fields: PromptFields, context: ImageContext, prompts: ComfyQueue): object {
  const owner = ownerOf(call);
  const files = prompts.files.of(owner);
  const nodes = readGraph(fields.prompt);
  const image = imageOf(context.taskServices);
  const { graphs, loras } = image.facts;
  const options = {
    hasFile: (name: string) => files.named(name) !== undefined,
    loras: loras?.map(({ file }) => file),
    targets: fields.partial_execution_targets,
  };
  const { plan, refusal, nodeErrors } = planned(nodes, options, graphs);
  const graph = { graph: fields.prompt as JsonObject, extra: fields.extra_data, targets: options.targets };
  const { prompt_id: sentId } = fields;
  const id = sentId && sentId.length <= 200 && !prompts.has(sentId) ? sentId : prompts.newId();
  const texts = imageTexts(fields);
  const number = prompts.add({
    id,
    fields,
    nodes,
    outputs: plan?.outputs.map((output) => output.id) ?? endNodes(graph.graph),
    owner,
    requestContext: { client: clientOf(call), part: fields.client_id ?? '', requestId: call.id, watch: call.watch },
    image,
    bytes: call.body.length,
    run: async (running, turn) => {
      if (graphs !== undefined && (await turn.runsGraphs())) return runGraph(graph, running, { turn, files });
      if (!plan) throw new AppError('unsupported', { feature: 'This graph', instead: refusal ?? 'it needs ComfyUI' });
      return runPlan(plan, running, { ...context, image, turn, files, prompts, texts });
    },
  });
  return { prompt_id: id, number, node_errors: nodeErrors };
}

/** How this server would run the graph itself; why it cannot matters only if its backend does not run whole graphs. */
function planned(nodes: Graph, options: WalkOptions, graphs: RunsGraphs | undefined) {
  if (graphs === 'whole') return { nodeErrors: {} };
  try {
    const { plan, nodeErrors } = walkGraph(nodes, options);
    return { plan, nodeErrors: graphs === undefined ? nodeErrors : {} };
  } catch (error) {
    if (graphs === undefined || !(error instanceof GraphRefusal)) throw error;
    return { refusal: error.message, nodeErrors: {} };
  }
}

/** Longer texts are left out of the images. */
const maxTextLength = 2 ** 20;

/** The graph and `extra_pnginfo`, which go into the images. */
function imageTexts({ prompt, extra_data: extra }: PromptFields): Readonly<Record<string, string>> {
  const more = isObject(extra.extra_pnginfo) ? extra.extra_pnginfo : {};
  const texts = Object.entries({ prompt, ...more }).map(
    ([name, value]) => [name, JSON.stringify(value) ?? ''] as const,
  );
  return Object.fromEntries(texts.filter(([, text]) => text.length <= maxTextLength));
}
