import { AppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { ModelSwap } from '../../core/models-view.ts';
import type { SavedStates, StateFigures, TextService } from '../../core/text-service.ts';
import { jsonObject } from '../../http/body.ts';
import { type Call, json } from '../../http/call.ts';
import type { ModelEndpoint, PlainEndpoint } from '../endpoint.ts';
import { textSchema } from '../fields/schemas.ts';
import { aside, fidelityOf, sentAs } from '../fields/table.ts';
import { ticketFor } from '../ticket.ts';
import { type AdminAccess, mayAdminister } from './access.ts';
import { adminFamily } from './errors.ts';

/** What depends on the model that a call concerns. */
export interface AdminContext {
  /** Undefined while no model is there whose state could be saved. */
  readonly states: () => SavedStates | undefined;
  readonly text: Pick<TextService, 'exclusively'>;
}

export interface AdminServices {
  readonly access: AdminAccess;
  /** There where what is served can be swapped. */
  readonly swap?: ModelSwap | undefined;
}

interface StateRoute {
  readonly name: string;
  readonly summary: string;
  readonly refused: object;
  /** Takes its turn in the queue, as it must not meet a generation. */
  readonly exclusive: boolean;
  /** Undefined refuses. */
  readonly answer: (states: SavedStates, place: number) => Promise<object | undefined>;
}

const stateRoutes: readonly StateRoute[] = [
  {
    name: 'check_state',
    summary: 'Which states are saved, and how large the present one is.',
    refused: { success: false, old_states: [], new_state_size: 0, new_tokens: 0 },
    exclusive: false,
    answer: async (states) => {
      const { places, current } = await states.check();
      const saved = places.map(({ tokens, bytes }) => ({ tokens, size: bytes }));
      return { success: true, old_states: saved, ...sizes(current) };
    },
  },
  {
    name: 'save_state',
    summary: 'Put the present state of the model aside.',
    refused: { success: false, new_state_size: 0, new_tokens: 0 },
    exclusive: true,
    answer: async (states, place) => {
      const saved = await states.save(place);
      return saved ? { success: true, ...sizes(saved) } : undefined;
    },
  },
  {
    name: 'load_state',
    summary: 'Take up a state that was saved.',
    refused: { success: false, new_tokens: 0 },
    exclusive: true,
    answer: async (states, place) => {
      const loaded = await states.load(place);
      return loaded ? { success: true, new_tokens: loaded.tokens } : undefined;
    },
  },
  {
    name: 'clear_state',
    summary: 'Forget all states that were saved.',
    refused: { success: false },
    exclusive: false,
    answer: async (states) => {
      await states.clear();
      return { success: true };
    },
  },
];

const slotFields = { slot: sentAs({ type: 'integer', default: 0 }, aside('honoured', 'The number of the place.')) };

export const adminFidelity: readonly EndpointFidelity[] = [
  fidelityOf('Admin', 'POST /api/admin/save_state, /api/admin/load_state', slotFields),
  fidelityOf('Admin', 'POST /api/admin/reload_config', {
    filename: sentAs(
      textSchema,
      aside('honoured', 'One of list_options: a config, a model, initial_model or unload_model.'),
    ),
    baseconfig: sentAs(textSchema, aside('honoured', 'A config below it; what filename says wins.')),
    overrideconfig: sentAs(textSchema, aside('honoured', 'An older name of baseconfig.')),
  }),
];

export function adminEndpoints(services: AdminServices): ModelEndpoint<AdminContext>[] {
  return [...stateEndpoints(services), ...swapEndpoints(services)];
}

/** What can be served instead of what is, and the change to it. Refusals are answers too. */
function swapEndpoints({ access, swap }: AdminServices): PlainEndpoint[] {
  const common = {
    match: 'ending',
    access: access.password === undefined ? 'guarded' : 'open',
    queued: false,
    family: adminFamily,
  } as const;
  const allowed = ({ headers }: Call): ModelSwap | undefined => (mayAdminister(access, headers) ? swap : undefined);
  return [
    {
      ...common,
      method: 'GET',
      path: '/api/admin/list_options',
      summary: 'The configs and models that the server can be switched to.',
      handle: async (call) => json((await allowed(call)?.options()) ?? []),
    },
    {
      ...common,
      method: 'POST',
      path: '/api/admin/reload_config',
      summary: 'Switch to another config or model, back to the first one, or to none.',
      handle: async (call) => {
        const { filename, baseconfig, overrideconfig } = await jsonObject(call.body, { empty: 'object' });
        const base = baseconfig ?? overrideconfig;
        if (typeof filename !== 'string' || (base !== undefined && base !== null && typeof base !== 'string')) {
          return json({ success: false });
        }
        return json({ success: (await allowed(call)?.reload(filename, base || undefined)) ?? false });
      },
    },
  ];
}

function stateEndpoints({ access }: AdminServices): ModelEndpoint<AdminContext>[] {
  return stateRoutes.map(({ name, summary, refused, exclusive, answer }) => ({
    method: 'POST',
    match: 'ending',
    path: `/api/admin/${name}`,
    // With a key of its own it says no in its own way. Without one it is guarded like all that changes something.
    access: access.password === undefined ? 'guarded' : 'open',
    queued: true,
    summary,
    family: adminFamily,
    handle: async (call, { states, text }) => {
      const present = mayAdminister(access, call.headers) ? states() : undefined;
      if (!present) return json(refused);
      const place = exclusive ? await placeOf(call, present.count) : 0;
      // Another model, or none, may be there when its turn has come.
      const work = async (): Promise<object | undefined> => {
        const now = states();
        return now && answer(now, place);
      };
      return json((await (exclusive ? text.exclusively(ticketFor(call, ''), work) : work())) ?? refused);
    },
  }));
}

/** The number of a place that is not there means the first one: clients rely on it. */
async function placeOf({ body }: Call, count: number): Promise<number> {
  const { slot } = await jsonObject(body, { empty: 'object' });
  const place = typeof slot === 'string' && slot.trim() !== '' ? Number(slot) : (slot ?? 0);
  if (!Number.isInteger(place)) throw new AppError('invalid-field', { field: 'slot', expected: 'a whole number' });
  return (place as number) >= 0 && (place as number) < count ? (place as number) : 0;
}

function sizes({ tokens, bytes }: StateFigures) {
  return { new_state_size: bytes, new_tokens: tokens };
}
