import type { SentFields } from '../core/sent-fields.ts';
import { parsedObject } from '../http/body.ts';
import type { Call, Reply } from '../http/call.ts';
import { bodyOfForm } from './form-body.ts';

type Sent = Pick<Call, 'body' | 'form'>;

/** By body or form: a call may be copied on its way. */
const passedNames = new WeakMap<object, Set<string>>();

/** The fields of a request, read only if a backend passes some of them on. */
export const sentFields = ({ body, form }: Sent): SentFields => ({
  get fields() {
    return form ? bodyOfForm(form) : (parsedObject(body) ?? {});
  },
  passed(names) {
    const known = passedNames.get(form ?? body) ?? new Set();
    for (const name of names) known.add(name);
    passedNames.set(form ?? body, known);
  },
});

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
