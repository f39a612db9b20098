import { describe, expect, test } from 'vitest';
import { asAppError } from '../../core/errors.ts';
import type { EndpointFidelity, FieldFidelity } from '../../core/fidelity.ts';
import { samplingFields } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Endpoint } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import type { EndpointShape } from '../endpoint.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { callOf } from './doubles.ts';

/** What became of one request: the neutral requests that it led to, and what its client was told. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly asked: readonly object[];
  readonly reply: string;
}

/** How the effect of a field is shown. */
export interface Proof {
  readonly send: JsonObject;
  /** What stands beside it, also in the request that it is compared with: some fields mean nothing alone. */
  readonly beside?: JsonObject;
  /** A part of the neutral request that comes of it and of nothing else. */
  readonly asks?: object;
  /** What the reply has because of it, and otherwise has not. */
  readonly tells?: RegExp;
  /** What the reply has not because of it, and otherwise has. */
  readonly hides?: RegExp;
  /** It is taken and changes nothing: all that its row promises. */
  readonly same?: true;
  /** By what an ignored one is named, where that is its place and not its name. */
  readonly named?: string;
  /** Other values of it, each of which is refused. */
  readonly refuses?: readonly JsonObject[];
}

/** The field table of an operation: `POST /prompt`. */
export function tableOf(endpoints: readonly EndpointShape[], operation: string): EndpointFidelity {
  const table = fieldTables(endpoints).find(({ endpoint }) => endpoint.split(', ').includes(operation));
  if (!table) throw new Error(`${operation} has no field table`);
  return table;
}

export interface Provable {
  readonly table: EndpointFidelity;
  /** The smallest request that is answered. */
  readonly base: JsonObject;
  readonly ask: (body: JsonObject) => Promise<Seen>;
  /** For every honoured and approximated field, and for others where any value will not do. */
  readonly proofs: Readonly<Record<string, Proof>>;
  /** Holds a refusal to the shape of the dialect. */
  readonly refusal: (reply: unknown) => void;
  /** The native API does not name ignored fields. */
  readonly silent?: true;
}

/** Goes through a table of fields row by row: none may say what is not so, and none may say it without a proof. */
export function proveFidelity({ table, base, ask, proofs, refusal, silent }: Provable): void {
  const named = (seen: Seen): string => seen.headers['x-parley-ignored'] ?? '';

  async function effective(field: string): Promise<void> {
    const proof = proofs[field] ?? samplerProof(field);
    if (!proof) throw new Error(`${field} is said to have an effect, and there is no proof of it`);
    const { beside = {}, send, asks, tells, hides, same, refuses = [] } = proof;
    if (!asks && !tells && !hides && !same) throw new Error(`the proof of ${field} proves nothing`);
    const before = await ask({ ...base, ...beside });
    const after = await ask({ ...base, ...beside, ...send });
    expect(after, after.reply).toMatchObject({ status: 200 });
    expect(named(after).split(', ')).not.toContain(field);
    if (asks) {
      expect(after.asked.at(-1)).toMatchObject(asks);
      expect(before.asked.at(-1)).not.toMatchObject(asks);
    }
    if (tells) {
      expect(after.reply).toMatch(tells);
      expect(before.reply).not.toMatch(tells);
    }
    if (hides) {
      expect(after.reply).not.toMatch(hides);
      expect(before.reply).toMatch(hides);
    }
    if (same) expect(after).toEqual(before);
    for (const wrong of refuses) expectRefusal(await ask({ ...base, ...beside, ...wrong }));
  }

  async function ignored(field: string): Promise<void> {
    const { send, beside = {}, named: name = field } = proofs[field] ?? { send: nested(field, 1) };
    const before = await ask({ ...base, ...beside });
    const after = await ask({ ...base, ...beside, ...send });
    expect(after, after.reply).toMatchObject({ status: 200 });
    expect(after.asked).toEqual(before.asked);
    expect(named(before)).not.toContain(name);
    if (!silent) expect(named(after)).toContain(name);
  }

  async function refused(field: string): Promise<void> {
    const { send, beside = {} } = proofs[field] ?? { send: nested(field, 'x') };
    expectRefusal(await ask({ ...base, ...beside, ...send }));
  }

  function expectRefusal({ status, reply, asked }: Seen): void {
    expect(status, reply).toBeGreaterThanOrEqual(400);
    refusal(JSON.parse(reply));
    expect(asked).toEqual([]);
  }

  const show = { honoured: effective, approximated: effective, ignored, refused };

  describe(`${table.dialect}: ${table.endpoint}`, () => {
    test.each(table.fields)('$field is $handling', ({ field, handling }: FieldFidelity) => show[handling](field));

    test('proves nothing that the table does not say', () => {
      const fields = new Set(table.fields.map(({ field }) => field));
      expect(Object.keys(proofs).filter((field) => !fields.has(field))).toEqual([]);
    });
  });
}

interface ProofWorld {
  readonly endpoints: readonly Endpoint[];
  readonly asked: readonly object[];
}

/** Asks the endpoint as the server would; `asked` is told anew for each request. `more`: headers, and what a body becomes where forms are sent. */
export function asking(
  endpoints: () => ProofWorld | Promise<ProofWorld>,
  method: string,
  path: string,
  more: (body: JsonObject) => Partial<Call> | Promise<Partial<Call>> = () => ({}),
): Provable['ask'] {
  return async (body) => {
    const world = await endpoints();
    const sent = await more(body);
    const endpoint = router(world.endpoints).find(method, path, sent.headers);
    if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
    const query = new URLSearchParams(
      method === 'GET' ? Object.entries(body).map(([key, value]): [string, string] => [key, `${value}`]) : [],
    );
    const reply = await answered(endpoint, callOf(path, body, { method, query, ...sent }));
    let text = 'body' in reply ? String(reply.body) : '';
    if ('stream' in reply) for await (const frame of reply.stream) text += frame;
    return {
      status: reply.status,
      headers: reply.headers ?? {},
      asked: world.asked.map(withoutFunctions),
      reply: text,
    };
  };
}

async function answered(endpoint: Endpoint, call: Call) {
  try {
    return await endpoint.handle(call);
  } catch (error) {
    return endpoint.dialect.errorReply(asAppError(error));
  }
}

/** A number goes to its control as it is, under every name that the one table of controls has for it. */
export function samplerProof(field: string, of: (value: object) => object = inControls): Proof | undefined {
  for (const [name, { wire, type }] of Object.entries(samplingFields)) {
    if (!(wire as readonly string[]).includes(field)) continue;
    const value = field === 'temperature' ? 0.37 : type === 'integer' ? 3 : name === 'repetitionPenalty' ? 1.37 : 0.37;
    return { send: { [field]: value }, asks: of({ sampling: { [name]: value } }) };
  }
  return undefined;
}

const inControls = (controls: object): object => ({ request: controls });

/** Signals and clocks are the same for everybody, and no two of them are. */
function withoutFunctions(asked: object): object {
  return JSON.parse(JSON.stringify(asked, (key, value) => (key === 'signal' ? undefined : value)));
}

function nested(path: string, value: unknown): JsonObject {
  const [name = '', ...rest] = path.split('.');
  return { [name]: rest.length === 0 ? value : nested(rest.join('.'), value) };
}
