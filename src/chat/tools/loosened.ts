import { type EmbeddedSchema, composeGrammar } from '../../grammar/convert.ts';
import type { Loosened } from '../../grammar/schema.ts';
import type { Tool } from '../messages.ts';

/** A demand of a tool's schema that calls of it are not held to. */
export interface LoosenedTool extends Loosened {
  readonly tool: string;
}

/** The arguments of a call in a grammar: always an object, and held to the schema as far as a grammar can. */
export function argumentsOf({ parameters }: Pick<Tool, 'parameters'>): EmbeddedSchema {
  return { schema: parameters, mode: 'loose', only: 'object' };
}

/** What calls of these tools are not held to. Agents offer the same tools with each turn. */
export const loosenedTools: (tools: readonly Tool[]) => readonly LoosenedTool[] = remembered(16, survey);

function survey(tools: readonly Tool[]): readonly LoosenedTool[] {
  const schemas = Object.fromEntries(tools.map((tool, index) => [`arguments-${index}`, argumentsOf(tool)]));
  const { loosened } = composeGrammar('""', schemas);
  return tools.flatMap(({ name }, index) =>
    (loosened.get(`arguments-${index}`) ?? []).map((one) => ({ tool: name, ...one })),
  );
}

/** `get_weather/properties/amount multipleOf`: where in which tool, and which keyword. */
export function loosenedText({ tool, pointer, keyword }: LoosenedTool): string {
  const place = `${tool}${pointer.slice(1)}`;
  return keyword === undefined ? place : `${place} ${keyword}`;
}

/** Beyond this a key is not worth its memory. */
const longestKey = 1_000_000;

/** The function with its last results kept, by what they were made from: for work that clients ask for turn after turn. */
export function remembered<Input, Value>(most: number, make: (input: Input) => Value): (input: Input) => Value {
  const kept = new Map<string, Value>();
  return (input) => {
    const key = JSON.stringify(input);
    const value = kept.has(key) ? (kept.get(key) as Value) : make(input);
    if (key.length > longestKey) return value;
    // Those used last stand last, and the first ones go.
    kept.delete(key);
    kept.set(key, value);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return value;
  };
}
