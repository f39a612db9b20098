import type { Tool } from '../chat/messages.ts';
import { callableTools } from '../chat/reply-grammar.ts';
import type { ChatRequest } from '../chat/request.ts';
import type { ChatService } from '../chat/service.ts';
import { loosenedText, loosenedTools } from '../chat/tools/call-grammar.ts';
import { inSlices } from '../core/slices.ts';
import type { JsonObject } from '../http/body.ts';
import type { Headers } from '../http/call.ts';
import { listHeader, withIgnored } from './dialect.ts';
import * as f from './fields.ts';
import type { Notices } from './read-body.ts';

/** Limits of the grammar. */
const maxTools = 1000;
const maxNameLength = 256;

/** Refuses too many tools, too long names, and a name that two tools have. */
export function checkToolNames(names: readonly string[], field: string): void {
  if (names.length > maxTools) throw f.wrong(field, `a list of at most ${maxTools} tools`);
  const long = names.find((name) => name.length > maxNameLength);
  if (long !== undefined) {
    throw f.wrong(
      field,
      `a list of tools with names of at most ${maxNameLength} characters, unlike ${long.slice(0, 40)}…`,
    );
  }
  const twin = names.find((name, index) => names.indexOf(name) !== index);
  if (twin === undefined) return;
  throw f.wrong(field, `a list of tools with names of their own, but ${JSON.stringify(twin)} is there twice`);
}

/** The parameters of a tool without any. */
export const noParameters = { type: 'object', properties: {} } as const;
/** The parameters of a tool that takes free text, as its only argument. */
export const freeText = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } as const;

/** A function with a name, as OpenAI declares it. */
export function readFunction(sent: JsonObject, path: string): Tool {
  const description = f.readAt(sent, 'description', path, f.optionalText);
  return {
    name: f.readAt(sent, 'name', path, f.readName),
    ...(description ? { description } : {}),
    parameters: f.readAt(sent, 'parameters', path, f.optionalObject) ?? noParameters,
  };
}

/** What has no effect: ignored fields, switches of thinking, and parts of tool schemas that no grammar can enforce. */
export async function chatHeaders(
  { ignored, thinkingOff }: Notices,
  request: ChatRequest,
  chat: Pick<ChatService, 'thinksAnyway'>,
): Promise<Headers> {
  const alsoIgnored = (await chat.thinksAnyway(request)) ? thinkingOff : [];
  const loosened = (await inSlices(loosenedTools(callableTools(request)))).map(loosenedText);
  return { ...withIgnored({}, [...ignored, ...alsoIgnored]), ...listHeader('x-parley-loosened', loosened) };
}

/** Note on tools, for every dialect that has them. */
export const loosenedNote =
  'What a schema asks for and no grammar can follow is left out, and x-parley-loosened names the tool, the place and the keyword; two tools of one name are refused.';

/** Note on every field that asks for a reply without thinking. */
export const silenceNote =
  'No thinking: by the template, or by the adapter where the model thinks and its format has such a form; otherwise named in x-parley-ignored.';
