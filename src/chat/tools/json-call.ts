import type { JsonBodyShape, WholeCall } from './json-body.ts';

/** `{"name": …, "arguments": {`, alone or in a list, with the other names that models use for the two. */
const header =
  /^(?:[\s,;[\]}`]|"(?:id|type|tool_call_id)"\s*:\s*"[^"]*")*\{\s*(?:"(?:id|type|tool_call_id)"\s*:\s*"[^"]*"\s*,\s*)*(?:"function"\s*:\s*\{\s*)?"(?:name|tool_name)"\s*:\s*"([^"\\]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/;

export const jsonCalls: JsonBodyShape = { header, whole: wholeCalls, completed: completedCall };

/** Behind the name there may be part of the next key. */
export function completedCall(cut: string): string {
  return `${cut.replace(/,\s*(?:"[a-z]*"?\s*:?\s*)?$/, '')}, "arguments": {`;
}

/** For arguments that stand before the name, or that are themselves a text of JSON. */
function wholeCalls(body: string): readonly WholeCall[] {
  let value: unknown;
  try {
    value = JSON.parse(body.replace(/\s*```\s*$/, ''));
  } catch {
    return [];
  }
  const calls = (Array.isArray(value) ? value : [value]).map(callOf);
  return calls.every((call) => call !== undefined) ? calls : [];
}

function callOf(value: unknown): WholeCall | undefined {
  if (!isObject(value)) return undefined;
  const inner = isObject(value.function) ? value.function : value;
  const name = inner.name ?? inner.tool_name ?? value.function;
  const given = inner.arguments ?? inner.parameters ?? {};
  if (typeof name !== 'string' || name === '') return undefined;
  const json = typeof given === 'string' ? objectText(given) : JSON.stringify(given);
  return json === undefined ? undefined : { name, json };
}

function objectText(text: string): string | undefined {
  try {
    return isObject(JSON.parse(text)) ? text : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
