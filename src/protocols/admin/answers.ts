import { downloadStates } from '../../core/model-downloads.ts';
import { fits, speeds } from '../../core/models-view.ts';
import { packJobStates, packStates } from '../../core/pack-installs.ts';
import * as a from '../answers.ts';

const refusal = { success: a.flag, 'error?': a.text };
const sizes = { new_state_size: a.count, new_tokens: a.count };
const unknown = a.orNull(a.count);

const model = a.object({
  id: a.orNull(a.text),
  name: a.text,
  base: a.orNull(a.text),
  kind: a.text,
  label: a.text,
  default: a.flag,
  state: a.words('loaded', 'loading', 'unloaded', 'unloading', 'failed'),
  progress: a.orNull(a.number),
  reason: a.orNull(a.text),
  ...a.members(unknown, 'memory_bytes', 'file_bytes', 'parameters'),
  quantization: a.orNull(a.text),
  context: unknown,
  trained_context: unknown,
  active_requests: a.count,
  has_output: a.flag,
  pinned: a.flag,
  previews: a.orNull(a.flag),
  expires_at: a.orNull(a.moment),
});

const models = a.object({
  models: a.list(model),
  available_bytes: a.count,
  router: a.flag,
  admin: a.object({
    ...a.members(a.flag, 'enabled', 'allowed', 'key_file'),
    owner: a.words('page', 'admin', 'flag', 'password', 'keys', 'network'),
  }),
  last_failure: a.orNull(a.open({ reason: a.text })),
  advice: a.orNull(a.text),
});

const file = a.object({
  ...a.members(a.text, 'filename', 'name', 'type'),
  program: a.orNull(a.text),
  file_bytes: unknown,
  parameters: unknown,
  quantization: a.orNull(a.text),
  trained_context: unknown,
});

const hubModel = a.object({
  id: a.text,
  gated: a.words('no', 'terms', 'author'),
  ...a.members(a.flag, 'tools', 'thinking', 'projector'),
  downloads: unknown,
  likes: unknown,
  changed: a.orNull(a.text),
  licence: a.orNull(a.text),
  parameters: unknown,
  architecture: a.orNull(a.text),
  supported: a.orNull(a.flag),
  context: unknown,
});

const hubFiles = a.object({
  model: a.text,
  commit: a.text,
  architecture: a.orNull(a.text),
  supported: a.orNull(a.flag),
  context: unknown,
  trained_context: unknown,
  files: a.list(
    a.object({
      name: a.text,
      bytes: a.count,
      parts: a.count,
      fit: a.orNull(a.words(...fits)),
      ...a.members(unknown, 'memory_bytes', 'card_layers', 'layers'),
      speed: a.orNull(a.words(...speeds)),
      chosen: a.flag,
    }),
  ),
  reason: a.text,
  projector: a.orNull(a.object({ bytes: a.count })),
  draft: a.orNull(a.object({ bytes: a.count })),
});

const recommendation = a.object({
  purpose: a.words('chat', 'code', 'stories', 'vision', 'embeddings', 'pictures', 'speech'),
  name: a.text,
  ...a.members(a.orNull(a.text), 'model', 'file', 'sha256', 'search', 'pack'),
  bytes: unknown,
  licence: a.text,
  why: a.text,
});

const pack = a.object({
  ...a.members(a.text, 'name', 'brings', 'licence'),
  bytes: a.count,
  state: a.words(...packStates),
  in_use: a.flag,
  job: a.orNull(
    a.object({
      state: a.words(...packJobStates),
      done_bytes: a.count,
      total_bytes: a.count,
      reason: a.orNull(a.text),
    }),
  ),
});

const download = a.object({
  model: a.text,
  state: a.words(...downloadStates),
  done_bytes: a.count,
  total_bytes: unknown,
  bytes_per_second: a.count,
  reason: a.orNull(a.text),
  path: a.orNull(a.text),
});

const key = a.object({
  name: a.text,
  scopes: a.list(a.text),
  rate: a.orNull(a.number),
  tokens_per_day: a.orNull(a.count),
  tokens_today: a.count,
  weight: a.number,
  shared: a.flag,
  requests: a.count,
  refused: a.count,
  ...a.members(a.orNull(a.moment), 'created', 'expires', 'last_seen'),
});

const invitation = {
  id: a.text,
  name: a.text,
  existing: a.flag,
  'scopes?': a.list(a.text),
  'rate?': a.orNull(a.count),
  'tokens_per_day?': a.orNull(a.count),
  'weight?': a.number,
  'shared?': a.flag,
  'key_expires?': a.orNull(a.moment),
  created: a.moment,
  expires: a.moment,
  minutes_left: a.count,
  by: a.text,
};
const issued = a.answer({ ...invitation, token: a.text, path: a.text });

const holder = {
  type: a.orNull(a.words('key', 'password', 'admin')),
  name: a.orNull(a.text),
  scopes: a.list(a.text),
};
const lan = a.object({
  enabled: a.flag,
  public: a.flag,
  addresses: a.list(a.text),
  unnamed: a.list(a.text),
  names: a.list(a.text),
  port: a.orNull(a.count),
  fingerprint: a.orNull(a.text),
});
const device = { id: a.text, device: a.text, created: a.moment, last_used: a.moment, current: a.flag };

const usage = a.object({
  day: a.text,
  type: a.words('key', 'password', 'address', 'others'),
  name: a.text,
  ...a.members(a.count, 'requests', 'prompt_tokens', 'completion_tokens', 'images'),
  audio_seconds_in: a.number,
  audio_seconds_out: a.number,
});

const toolServer = a.object({
  name: a.text,
  type: a.words('command', 'address'),
  state: a.words('connected', 'connecting', 'failed'),
  'reason?': a.text,
  tools: a.list(a.text),
});

const preset = a.object({ name: a.text, base: a.text, settings: a.open({}), problem: a.orNull(a.text) });

const loadSettings = a.object({
  model: a.orNull(a.text),
  contextsize: unknown,
  gpulayers: unknown,
  quantkv: a.orNull(a.text),
  flashattention: a.orNull(a.flag),
  pending: a.flag,
  error: a.orNull(a.text),
  in_use: a.object({
    ...a.members(unknown, 'context', 'trained_context', 'layers', 'gpu_layers'),
    quantkv: a.text,
    flashattention: a.flag,
  }),
});

const changed = a.answer(refusal);

export const adminAnswers: a.DialectAnswers = {
  errors: { admin: a.object({ success: a.words(false), error: a.text, 'detail?': a.busyDetail }) },
  answers: {
    'GET /api/extra/lan': a.json(lan),
    'GET /lan/authority.crt': a.media('application/x-x509-ca-cert'),
    'GET /lan/parley.mobileconfig': a.media('application/x-apple-aspen-config'),
    'POST /api/admin/check_state': a.answer({
      success: a.flag,
      old_states: a.list(a.object({ tokens: a.count, size: a.count })),
      ...sizes,
    }),
    'POST /api/admin/save_state': a.answer({ success: a.flag, ...sizes }),
    'POST /api/admin/load_state': a.answer({ success: a.flag, new_tokens: a.count }),
    'POST /api/admin/clear_state': a.answer({ success: a.flag }),
    'GET /api/admin/list_options': a.json(a.list(a.text)),
    'GET /api/admin/keys': a.json(a.list(key)),
    'GET /api/admin/usage': a.json(a.list(usage)),
    'GET /api/admin/invitations': a.answer({ invitations: a.list(a.object(invitation)) }),
    'POST /api/admin/invitations': issued,
    'DELETE /api/admin/invitations/{id}': changed,
    'POST /api/extra/invitations': issued,
    'POST /api/extra/join/preview': a.answer({ ...invitation, state: a.words('open', 'used', 'expired') }),
    'POST /api/extra/join': a.answer({ ...holder, 'key?': a.text }),
    'POST /api/extra/session': a.answer(holder),
    'GET /api/extra/session': a.answer({ ...holder, devices: a.list(a.object(device)) }),
    'DELETE /api/extra/session': a.answer({ success: a.flag, ended: a.count }),
    'PUT /api/admin/people/{name}': changed,
    'DELETE /api/admin/people/{name}': a.answer({ success: a.flag, key: a.flag, data: a.words('kept', 'removed') }),
    'GET /api/admin/people/{name}/export': a.media('application/x-tar'),
    'GET /api/admin/sessions': a.answer({ sessions: a.list(a.object({ ...holder, ...device })) }),
    'DELETE /api/admin/sessions/{id}': changed,
    'POST /api/admin/reload_config': changed,
    'GET /api/admin/load_settings': a.json(loadSettings),
    'POST /api/admin/load_settings': changed,
    'POST /api/admin/save_config': a.answer({ ...refusal, 'path?': a.text }),
    'GET /api/admin/presets': a.answer({ presets: a.list(preset) }),
    'POST /api/admin/presets': a.answer({ ...refusal, 'name?': a.text }),
    'POST /api/admin/presets/delete': changed,
    'GET /api/extra/models': a.json(models),
    'GET /api/admin/log': a.answer({
      lines: a.list(
        a.object({ number: a.count, time: a.text, level: a.words('debug', 'info', 'warn', 'error'), text: a.text }),
      ),
    }),
    'GET /api/admin/engine_output': a.answer({ lines: a.list(a.text) }),
    'GET /api/admin/models': a.answer({ models: a.list(file) }),
    'GET /api/admin/search': a.answer({ models: a.list(hubModel), next: a.orNull(a.text) }),
    'GET /api/admin/search/files': a.json(hubFiles),
    'GET /api/admin/recommended': a.answer({ date: a.text, memory_bytes: a.count, models: a.list(recommendation) }),
    'GET /api/admin/packs': a.answer({ packs: a.list(pack) }),
    'POST /api/admin/packs/add': changed,
    'POST /api/admin/packs/remove': changed,
    'GET /api/admin/downloads': a.answer({ downloads: a.list(download) }),
    'POST /api/admin/downloads': a.answer({ ...refusal, 'model?': a.text }),
    'POST /api/admin/models/delete': changed,
    'POST /api/admin/downloads/stop': changed,
    'POST /api/admin/downloads/remove': changed,
    'GET /api/extra/owner': a.answer({ token: a.orNull(a.text) }),
    'GET /api/extra/mcp': a.answer({
      servers: a.list(toolServer),
      admin: a.object({ enabled: a.flag, allowed: a.flag }),
      file: a.orNull(a.text),
    }),
    'POST /api/admin/mcp/add': changed,
    'POST /api/admin/mcp/remove': changed,
  },
};
