import { AppError } from '../core/errors.ts';
import type { AccessRule, EndpointInfo } from '../http/call.ts';
import type { SocketEndpoint } from '../http/web-socket.ts';
import type { KeyScope } from '../keys/key-file.ts';
import { type AdminAccess, mayAdminister } from '../protocols/admin/access.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';

/**
 * The access rules of the server: one row for each path of every dialect. A test finds paths without a row; such a path
 * needs the key and counts as changing something.
 */

/** Describes the server; names of models are masked without the key. */
const information: AccessRule = { access: 'open', changes: false };
/** Returns data of users, or computes without side effects. */
const reading: AccessRule = { access: 'guarded', changes: false };
/** Is queued, or stops or stores something. */
const making: AccessRule = { access: 'guarded', changes: true };
/** Its handler checks `--admin` and `--adminpassword` itself: its clients expect an unsuccessful answer with status 200. */
const administering: AccessRule = { access: 'admin', changes: true };
/** Changes what the server runs, in a dialect that has no answer of its own for others than administrators. */
const adminOnly: AccessRule = { ...administering, adminOnly: true };
/** Open with `--legacyopenpaths`: clients of KoboldCpp send no key there. */
const legacy = (rule: AccessRule): AccessRule => ({ ...rule, legacyOpen: true });
/** With that flag names of models are not masked: clients without a key have to send them. */
const shown: AccessRule = legacy(information);
/** Also takes the key as `?key=`: the source of an audio element cannot send a header. */
const played = (rule: AccessRule): AccessRule => ({ ...rule, keyInQuery: true });

/** Also takes the key as a subprotocol: pages cannot set the headers of a WebSocket. */
const talked = (rule: AccessRule): AccessRule => ({ ...rule, keyInProtocol: true });

/** Both forms of a path, with and without the version in front of it. */
const bare = (...paths: readonly string[]): string[] => paths.flatMap((path) => [`/v1${path}`, path]);
/** ComfyUI has each of its paths under `/api` too. */
const comfy = (...paths: readonly string[]): string[] => paths.flatMap((path) => [path, `/api${path}`]);
const sdapi = (...names: readonly string[]): string[] => names.map((name) => `/sdapi/v1/${name}`);
const both = (...names: readonly string[]): string[] =>
  names.flatMap((name) => [`/api/v1/${name}`, `/api/latest/${name}`]);

type Row = readonly [
  rule: AccessRule,
  method: EndpointInfo['method'] | 'SOCKET',
  paths: readonly string[],
  /** What a key of `--keyfile` needs; without a scope every key will do. */
  scope?: KeyScope,
];

/** A text is the title of the rows that follow it. */
const rows: readonly (Row | string)[] = [
  'KoboldAI and KoboldCpp',
  [making, 'POST', [...both('generate'), '/api/extra/generate/stream', '/request', '/api/extra/abort'], 'text'],
  [making, 'POST', ['/api/extra/embeddings'], 'embeddings'],
  [making, 'POST', ['/api/extra/tts', '/api/extra/transcribe'], 'audio'],
  [making, 'POST', ['/api/extra/music/prepare', '/api/extra/music/generate'], 'audio'],
  [making, 'POST', ['/api/extra/websearch', '/api/extra/webpage'], 'tools'],
  [making, 'POST', ['/api/extra/shutdown'], 'admin'],
  [
    making,
    'POST',
    ['/api/extra/data/save', '/api/extra/multiplayer/setstory', '/api/extra/multiplayer/status'],
    'text',
  ],
  [reading, 'POST', ['/api/extra/data/list', '/api/extra/data/load', '/api/extra/multiplayer/getstory'], 'text'],
  [making, 'POST', ['/api/extra/sync/save'], 'chat'],
  [reading, 'POST', ['/api/extra/sync/list', '/api/extra/sync/load'], 'chat'],
  [reading, 'GET', ['/api/extra/generate/check', '/api/extra/last_logprobs', '/api/extra/cache'], 'text'],
  [reading, 'POST', ['/api/extra/generate/check', '/api/extra/last_logprobs'], 'text'],
  // Its owner is checked: whoever could start a stream may take it up, whatever scope that took.
  [reading, 'GET', ['/api/extra/stream/']],
  [making, 'DELETE', ['/api/extra/stream/']],
  [reading, 'POST', ['/api/extra/tokencount', '/api/extra/tokenize', '/api/extra/detokenize']],
  [reading, 'POST', ['/api/extra/json_to_grammar']],
  [information, 'GET', both('model', 'info/version', 'config/max_length', 'config/max_context_length')],
  [information, 'GET', both('config/soft_prompt', 'config/soft_prompts_list')],
  [information, 'GET', ['/api/extra/true_max_context_length', '/api/extra/version', '/api/extra/perf']],
  [information, 'GET', ['/.well-known/serviceinfo', '/ping', '/api/extra/preloadstory']],
  [administering, 'POST', ['/api/admin/save_state', '/api/admin/load_state', '/api/admin/clear_state'], 'admin'],
  [administering, 'POST', ['/api/admin/check_state', '/api/admin/reload_config'], 'admin'],
  [
    { ...administering, changes: false },
    'GET',
    ['/api/admin/list_options', '/api/admin/models', '/api/admin/keys', '/api/extra/requests', '/api/extra/requests/'],
    'admin',
  ],
  [administering, 'DELETE', ['/api/extra/requests'], 'admin'],
  [administering, 'POST', ['/api/extra/requests/'], 'admin'],
  [administering, 'POST', ['/api/admin/mcp/add', '/api/admin/mcp/remove'], 'admin'],
  [reading, 'GET', ['/api/extra/models']],
  [reading, 'GET', ['/api/extra/mcp'], 'tools'],
  [making, 'POST', ['/mcp'], 'tools'],

  'OpenAI and Anthropic',
  [making, 'POST', bare('/chat/completions', '/responses', '/messages'), 'chat'],
  [making, 'POST', bare('/completions'), 'text'],
  [making, 'POST', bare('/embeddings'), 'embeddings'],
  [reading, 'POST', bare('/chat/completions/input_tokens', '/responses/input_tokens'), 'chat'],
  [reading, 'POST', ['/v1/messages/count_tokens'], 'chat'],
  [talked(making), 'SOCKET', bare('/realtime'), 'audio'],
  [information, 'GET', bare('/realtime')],
  [making, 'POST', ['/audio/speech', '/audio/transcriptions', '/audio/translations'], 'audio'],
  [legacy(making), 'POST', bare('/images/generations', '/images/edits', '/images/variations'), 'images'],
  [information, 'GET', [...bare('/models', '/models/'), '/audio/voices', '/audio/models']],
  [reading, 'GET', bare('/responses/'), 'chat'],
  [making, 'POST', bare('/responses/'), 'chat'],
  [making, 'DELETE', bare('/responses/'), 'chat'],
  // Always refused.
  ...(['GET', 'POST', 'PUT', 'DELETE'] as const).map((method): Row => [information, method, ['/v1/']]),
  ...(['GET', 'POST', 'DELETE'] as const).map((method): Row => [information, method, ['/v1/messages/batches']]),

  'Ollama',
  [making, 'POST', ['/api/generate'], 'text'],
  [making, 'POST', ['/api/chat'], 'chat'],
  [making, 'POST', ['/api/embed', '/api/embeddings'], 'embeddings'],
  [making, 'POST', ['/api/pull', '/api/push'], 'admin'],
  [making, 'POST', ['/api/create', '/api/copy', '/api/blobs/', '/api/me', '/api/signout'], 'admin'],
  [making, 'DELETE', ['/api/delete'], 'admin'],
  [information, 'GET', ['/api/version', '/api/tags', '/api/ps', '/api/status']],
  [shown, 'POST', ['/api/show']],

  'llama.cpp',
  [making, 'POST', ['/completion', '/infill', '/slots/'], 'text'],
  [making, 'POST', ['/embedding'], 'embeddings'],
  [making, 'POST', ['/props', '/lora-adapters'], 'admin'],
  [adminOnly, 'POST', ['/models/load', '/models/unload'], 'admin'],
  [making, 'POST', bare('/rerank', '/reranking'), 'embeddings'],
  [making, 'POST', ['/chat/completions/control'], 'chat'],
  [reading, 'POST', ['/tokenize', '/detokenize', '/apply-template']],
  [reading, 'GET', ['/lora-adapters']],
  [reading, 'GET', ['/tools', '/cors-proxy'], 'tools'],
  [legacy(reading), 'GET', ['/slots'], 'text'],
  [legacy(reading), 'GET', ['/metrics']],
  [information, 'GET', ['/props', '/health', '/v1/health']],

  'Speech: xtts-api-server and the simple API for VITS',
  [legacy(making), 'POST', ['/tts_to_audio', '/set_tts_settings', '/switch_model'], 'audio'],
  [legacy(making), 'POST', ['/set_output', '/set_speaker_folder'], 'audio'],
  [legacy(played(making)), 'GET', ['/tts_stream'], 'audio'],
  [making, 'POST', ['/tts_to_file', '/voice/vits'], 'audio'],
  [played(making), 'GET', ['/voice/vits'], 'audio'],
  [information, 'GET', ['/speakers_list', '/speakers', '/languages', '/get_tts_settings', '/get_models_list']],
  [information, 'GET', ['/get_folders', '/sample/', '/voice/speakers', '/voice/check']],

  'Stable Diffusion web UI',
  [
    legacy(making),
    'POST',
    sdapi('txt2img', 'img2img', 'extra-single-image', 'extra-batch-images', 'upscale'),
    'images',
  ],
  [
    legacy(making),
    'POST',
    sdapi('interrogate', 'interrupt', 'skip', 'options', 'refresh-checkpoints', 'refresh-vae'),
    'images',
  ],
  [
    legacy(making),
    'POST',
    sdapi('refresh-embeddings', 'refresh-loras', 'unload-checkpoint', 'reload-checkpoint'),
    'images',
  ],
  [legacy(reading), 'POST', sdapi('png-info'), 'images'],
  [legacy(reading), 'GET', sdapi('progress', 'get_last.json'), 'images'],
  [shown, 'GET', sdapi('options', 'sd-models', 'samplers', 'schedulers', 'upscalers', 'latent-upscale-modes')],
  [shown, 'GET', sdapi('loras', 'sd-vae', 'sd-modules', 'prompt-styles', 'hypernetworks', 'face-restorers')],
  [shown, 'GET', sdapi('realesrgan-models', 'extensions', 'script-info', 'scripts', 'embeddings', 'cmd-flags')],
  [shown, 'GET', sdapi('memory')],

  'ComfyUI',
  [legacy(making), 'POST', comfy('/prompt', '/queue', '/history', '/interrupt', '/free'), 'images'],
  [legacy(making), 'POST', comfy('/upload/image', '/upload/mask'), 'images'],
  [legacy(reading), 'GET', comfy('/queue', '/history', '/history/', '/view'), 'images'],
  [legacy(reading), 'SOCKET', comfy('/ws'), 'images'],
  [shown, 'GET', comfy('/prompt', '/object_info', '/object_info/', '/system_stats', '/embeddings', '/models')],
  [shown, 'GET', comfy('/extensions', '/features')],
  [shown, 'GET', comfy(...['checkpoints', 'loras', 'vae', 'diffusion_models', 'text_encoders'].map(modelFolder))],
  [shown, 'GET', comfy(...['clip_vision', 'controlnet', 'embeddings', 'hypernetworks'].map(modelFolder))],
  [shown, 'GET', comfy('/models/upscale_models')],

  'Pages',
  [information, 'GET', ['/', '/lcpp', '/api', '/api/v1', '/docs', '/docs/', '/v1', '/noscript', '/sdui', '/inspector']],
  [information, 'GET', ['/api/extra/fidelity', '/api/openapi.json', '/favicon.ico']],
  [making, 'POST', ['/noscript'], 'text'],
];

function modelFolder(name: string): string {
  return `/models/${name}`;
}

/** Files of the pages; their names change with each build. */
const pageFile = /\.(js|css|svg|png|woff2?|wasm|onnx|json|txt|webmanifest)$/;

/** Rules by `METHOD path`, as the endpoints declare it. */
export type AccessTable = ReadonlyMap<string, AccessRule>;

/** The same table in the groups that the documentation shows. */
export const accessGroups: ReadonlyMap<string, AccessTable> = grouped();

export const accessTable: AccessTable = new Map([...accessGroups.values()].flatMap((group) => [...group]));

function grouped(): ReadonlyMap<string, AccessTable> {
  const groups = new Map<string, Map<string, AccessRule>>();
  let title = '';
  for (const row of rows) {
    if (typeof row === 'string') {
      title = row;
      groups.set(title, new Map());
      continue;
    }
    const [rule, method, paths, scope] = row;
    for (const path of paths) groups.get(title)?.set(`${method} ${path}`, scope ? { ...rule, scope } : rule);
  }
  return groups;
}

/** The row of a path as it is declared; undefined where it has none. */
export function accessOf(method: string, path: string): AccessRule | undefined {
  const file = method === 'GET' && pageFile.test(path) ? information : undefined;
  return accessTable.get(`${method} ${path}`) ?? file;
}

/** The endpoints with their access rules. */
export function withAccess<Found extends Pick<EndpointInfo, 'method' | 'path'>>(
  endpoints: readonly Found[],
): (Found & AccessRule)[] {
  return endpoints.map((endpoint) => ({ ...endpoint, ...(accessOf(endpoint.method, endpoint.path) ?? making) }));
}

/** Those that are for administrators only refuse all others before their handlers are called. */
export function forAdministrators<Found extends ModelEndpoint<never> & AccessRule>(
  endpoints: readonly Found[],
  access: AdminAccess,
): Found[] {
  return endpoints.map((endpoint) => {
    if (!endpoint.adminOnly) return endpoint;
    const handle: Found['handle'] = (call, context) => {
      if (!mayAdminister(access, call)) throw new AppError('admin-only', {});
      return endpoint.handle(call, context);
    };
    return { ...endpoint, handle };
  });
}

export function withSocketAccess(sockets: readonly Omit<SocketEndpoint, 'access'>[]): SocketEndpoint[] {
  return sockets.map((socket) => ({ ...socket, ...(accessOf('SOCKET', socket.path) ?? making) }));
}
