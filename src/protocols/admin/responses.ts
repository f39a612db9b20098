import { downloadStates } from '../../core/model-downloads.ts';
import { fits, speeds } from '../../core/models-view.ts';
import { packJobStates, packStates } from '../../core/pack-installs.ts';
import * as s from '../response-schemas.ts';

const refusal = { success: s.boolean, 'error?': s.string };
const sizes = { new_state_size: s.count, new_tokens: s.count };
const unknown = s.nullable(s.count);

const model = s.object({
  id: s.nullable(s.string),
  name: s.string,
  base: s.nullable(s.string),
  kind: s.string,
  label: s.string,
  default: s.boolean,
  state: s.literal('loaded', 'loading', 'unloaded', 'unloading', 'failed'),
  progress: s.nullable(s.number),
  reason: s.nullable(s.string),
  ...s.properties(unknown, 'memory_bytes', 'file_bytes', 'parameters'),
  quantization: s.nullable(s.string),
  context: unknown,
  trained_context: unknown,
  active_requests: s.count,
  has_output: s.boolean,
  pinned: s.boolean,
  previews: s.nullable(s.boolean),
  expires_at: s.nullable(s.dateTime),
});

const models = s.object({
  models: s.array(model),
  available_bytes: s.count,
  router: s.boolean,
  admin: s.object({
    ...s.properties(s.boolean, 'enabled', 'allowed', 'key_file'),
    owner: s.literal('page', 'admin', 'flag', 'password', 'keys', 'network'),
  }),
  last_failure: s.nullable(s.looseObject({ reason: s.string })),
  advice: s.nullable(s.string),
});

const file = s.object({
  ...s.properties(s.string, 'filename', 'name', 'type'),
  program: s.nullable(s.string),
  file_bytes: unknown,
  parameters: unknown,
  quantization: s.nullable(s.string),
  trained_context: unknown,
});

const hubModel = s.object({
  id: s.string,
  gated: s.literal('no', 'terms', 'author'),
  ...s.properties(s.boolean, 'tools', 'thinking', 'projector'),
  downloads: unknown,
  likes: unknown,
  changed: s.nullable(s.string),
  licence: s.nullable(s.string),
  parameters: unknown,
  architecture: s.nullable(s.string),
  supported: s.nullable(s.boolean),
  context: unknown,
});

const hubFiles = s.object({
  model: s.string,
  commit: s.string,
  architecture: s.nullable(s.string),
  supported: s.nullable(s.boolean),
  context: unknown,
  trained_context: unknown,
  files: s.array(
    s.object({
      name: s.string,
      bytes: s.count,
      parts: s.count,
      fit: s.nullable(s.literal(...fits)),
      ...s.properties(unknown, 'memory_bytes', 'card_layers', 'layers'),
      speed: s.nullable(s.literal(...speeds)),
      chosen: s.boolean,
    }),
  ),
  reason: s.string,
  projector: s.nullable(s.object({ bytes: s.count })),
  draft: s.nullable(s.object({ bytes: s.count })),
});

const recommendation = s.object({
  purpose: s.literal('chat', 'code', 'stories', 'vision', 'embeddings', 'pictures', 'speech'),
  name: s.string,
  ...s.properties(s.nullable(s.string), 'model', 'file', 'sha256', 'search', 'pack'),
  bytes: unknown,
  licence: s.string,
  why: s.string,
});

const pack = s.object({
  ...s.properties(s.string, 'name', 'brings', 'licence'),
  bytes: s.count,
  state: s.literal(...packStates),
  in_use: s.boolean,
  job: s.nullable(
    s.object({
      state: s.literal(...packJobStates),
      done_bytes: s.count,
      total_bytes: s.count,
      reason: s.nullable(s.string),
    }),
  ),
});

const download = s.object({
  model: s.string,
  state: s.literal(...downloadStates),
  done_bytes: s.count,
  total_bytes: unknown,
  bytes_per_second: s.count,
  reason: s.nullable(s.string),
  path: s.nullable(s.string),
});

const key = s.object({
  name: s.string,
  scopes: s.array(s.string),
  rate: s.nullable(s.number),
  tokens_per_day: s.nullable(s.count),
  tokens_today: s.count,
  weight: s.number,
  shared: s.boolean,
  requests: s.count,
  refused: s.count,
  ...s.properties(s.nullable(s.dateTime), 'created', 'expires', 'last_seen'),
});

const invitation = {
  id: s.string,
  name: s.string,
  existing: s.boolean,
  'scopes?': s.array(s.string),
  'rate?': s.nullable(s.count),
  'tokens_per_day?': s.nullable(s.count),
  'weight?': s.number,
  'shared?': s.boolean,
  'key_expires?': s.nullable(s.dateTime),
  created: s.dateTime,
  expires: s.dateTime,
  minutes_left: s.count,
  by: s.string,
};
const issued = s.jsonObject({ ...invitation, token: s.string, path: s.string });

const holder = {
  type: s.nullable(s.literal('key', 'password', 'admin')),
  name: s.nullable(s.string),
  scopes: s.array(s.string),
};
const lan = s.object({
  enabled: s.boolean,
  public: s.boolean,
  addresses: s.array(s.string),
  unnamed: s.array(s.string),
  names: s.array(s.string),
  port: s.nullable(s.count),
  fingerprint: s.nullable(s.string),
});
const device = { id: s.string, device: s.string, created: s.dateTime, last_used: s.dateTime, current: s.boolean };

const usage = s.object({
  day: s.string,
  type: s.literal('key', 'password', 'address', 'others'),
  name: s.string,
  ...s.properties(s.count, 'requests', 'prompt_tokens', 'completion_tokens', 'images'),
  audio_seconds_in: s.number,
  audio_seconds_out: s.number,
});

const toolServer = s.object({
  name: s.string,
  type: s.literal('command', 'address'),
  state: s.literal('connected', 'connecting', 'failed'),
  'reason?': s.string,
  tools: s.array(s.string),
});

const preset = s.object({ name: s.string, base: s.string, settings: s.looseObject({}), problem: s.nullable(s.string) });

const loadSettings = s.object({
  model: s.nullable(s.string),
  contextsize: unknown,
  gpulayers: unknown,
  quantkv: s.nullable(s.string),
  flashattention: s.nullable(s.boolean),
  pending: s.boolean,
  error: s.nullable(s.string),
  in_use: s.object({
    ...s.properties(unknown, 'context', 'trained_context', 'layers', 'gpu_layers'),
    quantkv: s.string,
    flashattention: s.boolean,
  }),
});

export const errors = { admin: s.object({ success: s.literal(false), error: s.string, 'detail?': s.busyDetail }) };

export const responses = {
  lan: s.json(lan),
  certificate: s.media('application/x-x509-ca-cert'),
  profile: s.media('application/x-apple-aspen-config'),
  checkState: s.jsonObject({
    success: s.boolean,
    old_states: s.array(s.object({ tokens: s.count, size: s.count })),
    ...sizes,
  }),
  saveState: s.jsonObject({ success: s.boolean, ...sizes }),
  loadState: s.jsonObject({ success: s.boolean, new_tokens: s.count }),
  clearState: s.jsonObject({ success: s.boolean }),
  options: s.json(s.array(s.string)),
  keys: s.json(s.array(key)),
  usage: s.json(s.array(usage)),
  invitations: s.jsonObject({ invitations: s.array(s.object(invitation)) }),
  invite: issued,
  joinPreview: s.jsonObject({ ...invitation, state: s.literal('open', 'used', 'expired') }),
  join: s.jsonObject({ ...holder, 'key?': s.string }),
  signIn: s.jsonObject(holder),
  session: s.jsonObject({ ...holder, devices: s.array(s.object(device)) }),
  signOut: s.jsonObject({ success: s.boolean, ended: s.count }),
  removePerson: s.jsonObject({ success: s.boolean, key: s.boolean, data: s.literal('kept', 'removed') }),
  exportPerson: s.media('application/x-tar'),
  sessions: s.jsonObject({ sessions: s.array(s.object({ ...holder, ...device })) }),
  change: s.jsonObject(refusal),
  loadSettings: s.json(loadSettings),
  saveConfig: s.jsonObject({ ...refusal, 'path?': s.string }),
  presets: s.jsonObject({ presets: s.array(preset) }),
  addPreset: s.jsonObject({ ...refusal, 'name?': s.string }),
  models: s.json(models),
  log: s.jsonObject({
    lines: s.array(
      s.object({ number: s.count, time: s.string, level: s.literal('debug', 'info', 'warn', 'error'), text: s.string }),
    ),
  }),
  engineOutput: s.jsonObject({ lines: s.array(s.string) }),
  modelFiles: s.jsonObject({ models: s.array(file) }),
  search: s.jsonObject({ models: s.array(hubModel), next: s.nullable(s.string) }),
  searchFiles: s.json(hubFiles),
  recommended: s.jsonObject({ date: s.string, memory_bytes: s.count, models: s.array(recommendation) }),
  packs: s.jsonObject({ packs: s.array(pack) }),
  downloads: s.jsonObject({ downloads: s.array(download) }),
  download: s.jsonObject({ ...refusal, 'model?': s.string }),
  owner: s.jsonObject({ token: s.nullable(s.string) }),
  toolServers: s.jsonObject({
    servers: s.array(toolServer),
    admin: s.object({ enabled: s.boolean, allowed: s.boolean }),
    file: s.nullable(s.string),
  }),
};
