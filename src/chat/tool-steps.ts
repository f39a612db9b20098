import type { GenerationEvent } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import type { Reservation } from '../core/text-service.ts';
import { schemaToGrammar } from '../grammar/convert.ts';
import { firstThatFits } from './generation-steps.ts';
import { type Conversation, type Message, plainText, type Tool, text } from './messages.ts';
import { type ChatPrompt, propertyTypes } from './prompt.ts';
import { allowsSeveralCalls, type ChatRequest } from './request.ts';
import { callEvents, callListGrammar, readCallList } from './tools/call-grammar.ts';

// Calls for models whose template is not used for tools, in two short generations: a decision (is a tool needed, and which)
// and the call itself. Both follow a grammar, so that the arguments always fit the schema.

export type Render = (conversation: Conversation) => Promise<ChatPrompt>;

type Finish = Extract<GenerationEvent, { type: 'finish' }>;

const decisionTokens = 300;
const yes = ['yes', 'Yes', 'YES'];
const no = ['no', 'No', 'NO'];

/** The tool to call, undefined if the model thinks that none is needed; and the cost of the decision. */
export async function chooseTool(request: ChatRequest, render: Render, reservation: Reservation) {
  const { toolChoice, conversation } = request;
  const { tools } = conversation;
  if (toolChoice.type === 'named') return { tool: tools.find(({ name }) => name === toolChoice.name), steps: [] };
  const required = toolChoice.type === 'required';
  if (required && tools.length === 1) return { tool: tools[0], steps: [] };
  const names = tools.map(({ name }) => name);
  const bareTools = tools.map(({ name, parameters }) => ({ name, parameters }));
  const gbnf = schemaToGrammar(required ? objectSchema({ tool_name: { enum: names } }) : decisionSchema(names));
  const decide = async (listed: readonly Tool[]) => {
    const question = required ? whichTool(listed) : whetherTool({ ...conversation, tools: listed });
    const { prompt, memory } = await render(asking(conversation, question));
    return reservation.generate({
      ...request.controls,
      media: conversation.media,
      prompt,
      memory,
      maxTokens: decisionTokens,
      sampling: { ...request.controls.sampling, temperature: 0.1, topK: 1, repetitionPenalty: 1 },
      grammar: { gbnf, retainState: false },
      logprobs: undefined,
      stop: [],
    });
  };
  const decision = await fold(firstThatFits([() => decide(tools), () => decide(bareTools)]));
  const parsed = tryParseJson(decision.text);
  const decided = isObject(parsed) ? parsed : {};
  const name = String(decided.tool_name ?? 'null');
  const declined = !required && !yes.includes(String(decided.final_decision));
  const named = tools.find((tool) => tool.name === name) ?? (tools.length === 1 ? tools[0] : undefined);
  return { tool: declined ? undefined : named, steps: [decision] };
}

/** The requests whose reply is the call: with the whole schema, and with the types of the parameters only. */
export function forcedCallRequests(request: ChatRequest, tool: Tool, render: Render) {
  const schemas = [
    `Its parameters as a JSON schema: ${JSON.stringify(tool.parameters)}`,
    `Its parameters and their types: ${JSON.stringify(propertyTypes(tool.parameters))}`,
  ];
  const { controls, conversation } = request;
  return schemas.map((schema) => async () => {
    const { prompt, memory } = await render(asking(conversation, writeCall(tool, schema)));
    return {
      ...controls,
      media: conversation.media,
      prompt,
      memory,
      sampling: { ...controls.sampling, temperature: Math.min(controls.sampling.temperature, 1) },
      grammar: { gbnf: callListGrammar(tool, allowsSeveralCalls(request)), retainState: false },
      logprobs: undefined,
      stop: [],
    };
  });
}

/** The complete reply as call events. */
export async function forcedCalls(events: AsyncIterable<GenerationEvent>, tool: Tool, newId: () => string) {
  const made: GenerationEvent[] = [];
  let written = '';
  for await (const event of events) {
    if (event.type === 'text-delta') written += event.text;
    else if (event.type === 'finish') made.push(...ending(event, written, tool, newId));
    else made.push(event);
  }
  return made;
}

/** Holds back a reply from its first call on, and sends it at its end with each call in one piece. */
export class CallBuffer {
  #buffered: GenerationEvent[] | undefined;

  push(event: GenerationEvent): readonly GenerationEvent[] {
    if (event.type === 'tool-start') this.#buffered ??= [];
    if (!this.#buffered) return [event];
    const last = this.#buffered.at(-1);
    if (event.type === 'tool-delta' && last?.type === 'tool-delta') {
      this.#buffered[this.#buffered.length - 1] = { ...last, json: last.json + event.json };
    } else this.#buffered.push(event);
    if (event.type !== 'finish' && event.type !== 'error') return [];
    const buffered = this.#buffered;
    this.#buffered = undefined;
    return buffered;
  }
}

function ending(finish: Finish, text: string, tool: Tool, newId: () => string): readonly GenerationEvent[] {
  const { calls, whole } = readCallList(text);
  // The grammar does not allow thinking.
  const last = { ...finish, usage: { ...finish.usage, reasoningTokens: 0 } };
  if (whole) {
    return [...callEvents(calls, tool, newId), finish.reason === 'aborted' ? last : { ...last, reason: 'tool-calls' }];
  }
  if (finish.reason === 'stop') return text === '' ? [last] : [{ type: 'text-delta', text }, last];
  // Even if it was cut off before its arguments, it is a call of this tool.
  return [...callEvents(calls.length > 0 ? calls : [''], tool, newId), last];
}

function asking(conversation: Conversation, question: string): Conversation {
  const message: Message = { role: 'user', content: text(question) };
  return { ...conversation, tools: [], messages: [...conversation.messages, message] };
}

function whetherTool({ messages, tools }: Conversation): string {
  const lastQuestion = messages.findLast(({ role }) => role === 'user');
  const request = lastQuestion ? plainText(lastQuestion.content) : '';
  const answered = messages.at(-1)?.role === 'tool';
  return [
    `Tools that can be called:\n${listing(tools)}`,
    `The request of the user: ${request}`,
    answered
      ? 'The results of a call are above. Is another call needed before the user can be answered?'
      : 'Is one of these tools needed to answer the user?',
    'Reply with JSON: your reasoning in one sentence, the final decision (yes or no), and the name of the tool or null.',
  ].join('\n');
}

function whichTool(tools: readonly Tool[]): string {
  return `Tools that can be called:\n${listing(tools)}\nWhich of them serves the user's request best? Reply with JSON that holds its name.`;
}

function writeCall(tool: Tool, schema: string): string {
  return [
    `Call the tool ${tool.name}${tool.description ? ` (${tool.description})` : ''} for the user's request.`,
    schema,
    'Reply only with a JSON list that holds the call, its arguments filled in from the conversation.',
  ].join('\n');
}

function listing(tools: readonly Tool[]): string {
  return tools.map(({ name, description }) => `- ${name}${description ? `: ${description}` : ''}`).join('\n');
}

function decisionSchema(names: readonly string[]): object {
  return objectSchema({
    reasoning: { type: 'string', maxLength: 300 },
    final_decision: { enum: [...yes, ...no] },
    tool_name: { enum: [...names, 'null'] },
  });
}

function objectSchema(properties: object): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
