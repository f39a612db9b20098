import * as a from '../answers.ts';
import { modelFolders } from './routes.ts';

const problem = a.object({ type: a.text, message: a.text, details: a.text, 'extra_info?': a.anyObject });
const nodeErrors = a.mapOf(
  a.object({ errors: a.list(problem), dependent_outputs: a.list(a.text), class_type: a.text }),
);

/** Number, id, graph, extra data, outputs. */
const queued = a.list(a.anything);

const entry = a.object({
  prompt: queued,
  outputs: a.mapOf(a.object({ images: a.list(a.anyObject) })),
  status: a.object({
    status_str: a.words('success', 'error'),
    completed: a.flag,
    messages: a.list(a.list(a.anything)),
  }),
  meta: a.mapOf(a.object({ node_id: a.text, display_node: a.text, parent_node: a.nothing, real_node_id: a.text })),
  'notes?': a.list(a.text),
});
const history = a.json(a.mapOf(entry));

const classes = a.json(
  a.mapOf(
    a.open({
      input: a.anyObject,
      output: a.list(a.anything),
      output_name: a.list(a.text),
      name: a.text,
      category: a.text,
      output_node: a.flag,
    }),
  ),
);

const file = a.answer({ name: a.text, subfolder: a.text, type: a.words('input', 'output', 'temp') });
const empty = a.answer({});
const names = a.json(a.list(a.text));

const system = a.object({
  system: a.open({ os: a.text, ram_total: a.count, ram_free: a.count, comfyui_version: a.text }),
  devices: a.list(a.open({ name: a.text, type: a.text, index: a.count, vram_total: a.count, vram_free: a.count })),
});

const folderPaths = [...modelFolders.keys()].map((name) => `/models/${name}`);

export const comfyAnswers: a.DialectAnswers = {
  errors: { comfy: a.object({ error: problem, node_errors: nodeErrors, 'detail?': a.busyDetail }) },
  answers: {
    'POST /prompt': a.answer({ prompt_id: a.text, number: a.number, node_errors: nodeErrors }),
    'GET /prompt': a.answer({ exec_info: a.object({ queue_remaining: a.count }) }),
    'GET /queue': a.answer({ queue_running: a.list(queued), queue_pending: a.list(queued) }),
    ...a.each('POST', ['/queue', '/history', '/interrupt', '/free'], empty),
    'GET /history': history,
    'GET /history/{rest}': history,
    'GET /view': a.media('image/png', 'image/jpeg', 'image/webp', 'image/gif'),
    ...a.each('POST', ['/upload/image', '/upload/mask'], file),
    'GET /object_info': classes,
    'GET /object_info/{rest}': classes,
    'GET /system_stats': a.json(system),
    ...a.each('GET', ['/embeddings', '/extensions', '/api/models', ...folderPaths], names),
    'GET /features': a.answer({ supports_preview_metadata: a.flag, max_upload_size: a.count }),
  },
};
