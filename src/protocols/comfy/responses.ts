import * as s from '../response-schemas.ts';

const problem = s.object({ type: s.string, message: s.string, details: s.string, 'extra_info?': s.anyObject });
const nodeErrors = s.record(
  s.object({ errors: s.array(problem), dependent_outputs: s.array(s.string), class_type: s.string }),
);

/** Number, id, graph, extra data, outputs. */
const queued = s.array(s.any);

const entry = s.object({
  prompt: queued,
  outputs: s.record(s.object({ images: s.array(s.anyObject) })),
  status: s.object({
    status_str: s.literal('success', 'error'),
    completed: s.boolean,
    messages: s.array(s.array(s.any)),
  }),
  meta: s.record(s.object({ node_id: s.string, display_node: s.string, parent_node: s.nil, real_node_id: s.string })),
  'notes?': s.array(s.string),
});
const history = s.json(s.record(entry));

const classes = s.json(
  s.record(
    s.looseObject({
      input: s.anyObject,
      output: s.array(s.any),
      output_name: s.array(s.string),
      name: s.string,
      category: s.string,
      output_node: s.boolean,
    }),
  ),
);

const system = s.object({
  system: s.looseObject({ os: s.string, ram_total: s.count, ram_free: s.count, comfyui_version: s.string }),
  devices: s.array(
    s.looseObject({ name: s.string, type: s.string, index: s.count, vram_total: s.count, vram_free: s.count }),
  ),
});

export const errors = { comfy: s.object({ error: problem, node_errors: nodeErrors, 'detail?': s.busyDetail }) };

export const responses = {
  queued: s.jsonObject({ prompt_id: s.string, number: s.number, node_errors: nodeErrors }),
  queueLength: s.jsonObject({ exec_info: s.object({ queue_remaining: s.count }) }),
  queue: s.jsonObject({ queue_running: s.array(queued), queue_pending: s.array(queued) }),
  empty: s.jsonObject({}),
  history,
  image: s.media('image/png', 'image/jpeg', 'image/webp', 'image/gif'),
  file: s.jsonObject({ name: s.string, subfolder: s.string, type: s.literal('input', 'output', 'temp') }),
  classes,
  system: s.json(system),
  names: s.json(s.array(s.string)),
  features: s.jsonObject({ supports_preview_metadata: s.boolean, max_upload_size: s.count }),
};
