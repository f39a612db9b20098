import { AppError } from '../../core/errors.ts';
import type { ModelSwap } from '../../core/models-view.ts';
import type { SavedStates, StateFigures, TextService } from '../../core/text-service.ts';
import type { DayUsage } from '../../core/usage.ts';
import { type Call, json } from '../../http/call.ts';
import { bodyOf, type ModelEndpoint } from '../endpoint.ts';
import { textSchema } from '../fields.ts';
import { requestContextOf } from '../request-context.ts';
import { snakeCase } from '../snake-case.ts';
import { type AdminAccess, adminReadRow, adminRow, field, mayAdminister, moment } from './access.ts';
import { loadSettingsEndpoints } from './load-settings.ts';
import type { StoredKey } from './person-data.ts';

/** Per-model part of the context. */
interface AdminContext {
  readonly text: Pick<TextService, 'exclusively' | 'states'>;
}

export interface AdminServices {
  readonly access: AdminAccess;
  /** Undefined if models cannot be swapped. */
  readonly swap?: ModelSwap | undefined;
  /** With `--keyfile` only. */
  readonly keys?: { list(): readonly ListedKey[] } | undefined;
  readonly usage?: Usage | undefined;
}

interface Usage {
  /** Of the last days, today first. */
  list(days: number): readonly DayUsage[];
  /** Tokens that a key has used today. */
  tokensToday(key: string): number;
}

/** A key of `--keyfile` and how it was used since the start. */
interface ListedKey extends StoredKey {
  readonly requests: number;
  readonly refused: number;
  readonly lastSeen?: number;
}

/** Undefined or null refuses. */
type StateAnswer = (states: SavedStates, slot: number) => Promise<object | undefined | null>;

const slotFields = { slot: field({ type: 'integer', default: 0 }, 'The number of the slot.') };

const reloadFields = {
  filename: field(
    textSchema,
    'One of list_options (a config, a model, initial_model, unload_model) or of GET /api/admin/models.',
  ),
  baseconfig: field(textSchema, 'A base config, which filename overrides.'),
  overrideconfig: field(textSchema, 'An older name of baseconfig.'),
};

export function adminEndpoints({ access, swap, keys, usage }: AdminServices): ModelEndpoint<AdminContext>[] {
  const allowed = (call: Call): ModelSwap | undefined => (mayAdminister(access, call) ? swap : undefined);
  // An exclusive one waits for its turn in the queue: no generation may run meanwhile.
  const state = (
    name: string,
    summary: string,
    response: string,
    refused: object,
    exclusive: boolean,
    answer: StateAnswer,
  ) =>
    adminRow(
      `/api/admin/${name}`,
      summary,
      async (call, { text }: AdminContext) => {
        const present = mayAdminister(access, call) ? text.states() : undefined;
        if (!present) return json({ success: false, ...refused });
        const slot = exclusive ? await slotOf(call, present.count) : 0;
        const work = async () => {
          // The model may have been swapped or unloaded meanwhile.
          const now = text.states();
          return now && answer(now, slot);
        };
        const answered = await (exclusive ? text.exclusively(requestContextOf(call, ''), work) : work());
        return json({ success: Boolean(answered), ...(answered ?? refused) });
      },
      { ...(exclusive && { fields: slotFields }), response, queued: true },
    );
  const noSizes = { new_state_size: 0, new_tokens: 0 };
  const noStates = { old_states: [], ...noSizes };
  return [
    state(
      'check_state',
      'The saved states, and the size of the present one.',
      'checkState',
      noStates,
      false,
      async (states) => {
        const { slots, current } = await states.check();
        return { old_states: slots.map(({ tokens, bytes }) => ({ tokens, size: bytes })), ...sizes(current) };
      },
    ),
    state('save_state', 'Save the state of the model.', 'saveState', noSizes, true, async (states, slot) => {
      const saved = await states.save(slot);
      return saved && sizes(saved);
    }),
    state('load_state', 'Load a saved state.', 'loadState', { new_tokens: 0 }, true, async (states, slot) => {
      const loaded = await states.load(slot);
      return loaded && { new_tokens: loaded.tokens };
    }),
    state('clear_state', 'Delete all saved states.', 'clearState', {}, false, async (states) => {
      await states.clear();
      return {};
    }),
    adminReadRow(
      '/api/admin/list_options',
      'The configs and models that the server can be switched to.',
      async (call) => json((await allowed(call)?.options()) ?? []),
      { response: 'options' },
    ),
    adminReadRow(
      '/api/admin/keys',
      'The keys of --keyfile: what each may do, and how it was used since the start. The keys themselves are stored nowhere.',
      (call) => json(mayAdminister(access, call) ? (keys?.list() ?? []).map((key) => keyBody(key, usage)) : []),
      { response: 'keys' },
    ),
    adminReadRow(
      '/api/admin/usage',
      'What each client has used on each of the last days, today first: ?days=, by default 7, at most 100. A client is a key, the holders of the password, or an address.',
      (call) => json(mayAdminister(access, call) ? (usage?.list(daysOf(call)) ?? []).map(usageBody) : []),
      { response: 'usage' },
    ),
    adminRow(
      '/api/admin/reload_config',
      'Switch to another config or model, back to the first one, or to none.',
      async (call) => {
        const { filename, baseconfig, overrideconfig } = await bodyOf(call, 'object');
        const base = baseconfig ?? overrideconfig ?? '';
        if (typeof filename !== 'string' || typeof base !== 'string') return json({ success: false });
        const models = allowed(call);
        const success = (await models?.reload(filename, base || undefined)) ?? false;
        const reason = success ? undefined : models?.failure?.()?.reason;
        return json({ success, ...(reason === undefined ? {} : { error: reason }) });
      },
      { fields: reloadFields, response: 'change' },
    ),
    ...loadSettingsEndpoints(access, swap?.load),
  ];
}

/** Hash and salt are left out. */
function keyBody(key: ListedKey, usage: Usage | undefined): object {
  const { name, scopes, rate, tokensPerDay, weight, shared, expires, created, requests, refused, lastSeen } = key;
  const known = (time: number | undefined) => (time === undefined ? null : moment(time));
  const times = { created: moment(created), expires: known(expires), last_seen: known(lastSeen) };
  const tokens = { tokens_per_day: tokensPerDay ?? null, tokens_today: usage?.tokensToday(name) ?? 0 };
  return { name, scopes, rate: rate ?? null, ...tokens, weight, shared: shared !== false, requests, refused, ...times };
}

function daysOf({ query }: Call): number {
  const days = Number(query.get('days') || 7);
  if (!(days >= 1)) throw new AppError('invalid-field', { field: 'days', expected: 'a number of days' });
  return Math.min(100, Math.floor(days));
}

/** Seconds of sound with one decimal. */
function usageBody({ day, client, ...counts }: DayUsage): object {
  const [type, ...name] = client.split(' ');
  const rounded = Object.entries(counts).map(([count, value]) => [count, Number(value.toFixed(1))]);
  return { day, type, name: name.join(' '), ...(snakeCase(Object.fromEntries(rounded)) as object) };
}

/** A slot that does not exist means the first one: clients rely on it. */
async function slotOf(call: Call, count: number): Promise<number> {
  const { slot: sent } = await bodyOf(call, 'object');
  const slot = typeof sent === 'string' && sent.trim() !== '' ? Number(sent) : (sent ?? 0);
  if (!Number.isInteger(slot)) throw new AppError('invalid-field', { field: 'slot', expected: 'a whole number' });
  return (slot as number) >= 0 && (slot as number) < count ? (slot as number) : 0;
}

function sizes({ tokens, bytes }: StateFigures) {
  return { new_state_size: bytes, new_tokens: tokens };
}
