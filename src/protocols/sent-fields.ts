import type { SentFields } from '../core/sent-fields.ts';
import { parsedObject } from '../http/body.ts';
import type { Call, Reply } from '../http/call.ts';
import { bodyOfForm } from './form-body.ts';

type Sent = Pick<Call, 'body' | 'form'>;

/** By body or form: a call may be copied on its way. */
const passedNames = new WeakMap<object, Set<string>>();

/** The fields of a request, read only if a backend passes some of them on: as a getter of a class, which copies do not call. */
class RequestFields implements SentFields {
  readonly #call: Sent;

  constructor(call: Sent) {
    this.#call = call;
  }

  get fields(): SentFields['fields'] {
    const { body, form } = this.#call;
    return form ? bodyOfForm(form) : (parsedObject(body) ?? {});
  }

  passed(names: readonly string[]): void {
    const key = this.#call.form ?? this.#call.body;
    const known = passedNames.get(key) ?? new Set();
    for (const name of names) known.add(name);
    passedNames.set(key, known);
  }
}

export const sentFields = (call: Sent): SentFields => new RequestFields(call);

const header = 'x-parley-ignored';

/** Without the fields that were passed on, which are not ignored. */
export function withoutPassed(reply: Reply, { body, form }: Sent): Reply {
  const passed = passedNames.get(form ?? body);
  const listed = reply.headers?.[header];
  if (!passed || typeof listed !== 'string') return reply;
  const ignored = listed.split(', ').filter((path) => !passed.has(path.split('.')[0] ?? ''));
  const { [header]: _, ...others } = reply.headers ?? {};
  return { ...reply, headers: ignored.length > 0 ? { ...others, [header]: ignored.join(', ') } : others };
}
