import { type ChatTags, chatAdapter } from '../../chat/adapters/adapter.ts';
import { chatService } from '../../chat/service.ts';
import { withSharedPrefixes } from '../../chat/shared-prefix.ts';
import { untimedTemplate } from '../../chat/testing/inline-template.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { TextService } from '../../core/text-service.ts';
import { systemTimer } from '../../core/timers.ts';
import type { ToolServers } from '../../core/tool-servers.ts';
import type { WebSearch } from '../../core/web-search.ts';
import type { Endpoint } from '../../http/call.ts';
import type { HttpServerOptions } from '../../http/server.ts';
import { serve } from '../../http/testing/world.ts';
import type { DialectContext } from '../dialect.ts';
import { type AskedText, dialectParts, finishEvent, play, type Script, scriptedText, startEvent } from './doubles.ts';

/** ChatML with thinking, and calls in the manner of Hermes. */
export const chatmlWithTools = String.raw`
{%- if tools %}{{ '<tools>' + (tools | tojson) + '</tools><tool_call>' }}{% endif -%}
{%- for message in messages -%}
  {{- '<|im_start|>' + message.role + '\n' + message.content -}}
  {%- for call in message.tool_calls or [] %}{{ '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{% endfor -%}
  {{- '<|im_end|>\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\n' -}}`;

export interface SdkOptions {
  readonly text?: Partial<TextService>;
  readonly server?: Partial<HttpServerOptions>;
  /** Without one the tags make the prompt, and calls come by two steps. */
  readonly template?: string;
  readonly tags?: ChatTags;
  /** The search of `--websearch`. */
  readonly web?: WebSearch;
  /** The servers of `--mcpfile`, and those of `--mcpallow`, which get the headers of clients. */
  readonly serverAt?: (url: string, headers?: Readonly<Record<string, string>>) => ToolServers | undefined;
  readonly isClientServer?: (url: string) => boolean;
  readonly exactPrompts?: boolean;
}

export interface SdkWorld {
  readonly base: string;
  readonly asked: readonly AskedText[];
  /** What went wrong in the server itself, besides all that it answered. */
  readonly errors: readonly unknown[];
}

/** One script for every generation, or a list of them, one after the other. */
export type Scripts = Script | readonly (readonly GenerationEvent[])[];

/**
 * What an official client is tried against: the endpoints of a dialect and the real chat service on a real socket. Only the
 * model behind them plays scripts.
 */
export async function sdkWorld(
  scripts: Scripts,
  endpoints: (parts: DialectContext) => readonly Endpoint[],
  { template, tags = chatAdapter({}).tags, web, serverAt, isClientServer, exactPrompts, ...options }: SdkOptions = {},
): Promise<SdkWorld> {
  const { text, asked } = scriptedText(inTurn(scripts), options.text);
  let calls = 0;
  const chat = chatService({
    text,
    tags,
    tagsWithoutThinking: undefined,
    templateText: template,
    template: async () => (template === undefined ? undefined : untimedTemplate(template)),
    templateUse: { chats: true, tools: template !== undefined, listedTools: false },
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => {
      calls += 1;
      return `call_${calls}`;
    },
    warn: () => undefined,
    serverTools: { web, serverAt, turns: 3, now: () => new Date(0), startTimer: systemTimer },
  });
  const made = dialectParts({ text, chat: exactPrompts ? chat : withSharedPrefixes(chat), startTimer: systemTimer });
  const parts = { ...made, controlLimits: () => ({ ...made.controlLimits(), isClientServer }) };
  const { port, errors } = await serve(endpoints(parts), options.server);
  return { base: `http://127.0.0.1:${port}`, asked, errors };
}

function inTurn(scripts: Scripts): Script {
  if (typeof scripts === 'function') return scripts;
  if (!Array.isArray(scripts[0])) return scripts as readonly GenerationEvent[];
  const left = [...(scripts as readonly (readonly GenerationEvent[])[])];
  return () => play(left.shift() ?? []);
}

/** A reply that is not at its end yet. */
export function begun(...pieces: readonly string[]): GenerationEvent[] {
  return [startEvent(), ...pieces.map((text): GenerationEvent => ({ type: 'text-delta', text }))];
}

export function said(...pieces: readonly string[]): GenerationEvent[] {
  return [...begun(...pieces), finishEvent()];
}
