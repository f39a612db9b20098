import fc from 'fast-check';
import type { Content, Conversation, Message, Tool } from '../../chat/messages.ts';
import { text } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat, ToolChoice } from '../../chat/request.ts';
import type { GenerationControls, GenerationRequest, ReasoningBudget } from '../../core/request.ts';
import type { Sampling } from '../../core/sampling-fields.ts';

/** Random neutral requests, of what every dialect can say; what only some can say is added by the tests of those. */

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((one) => one.trim() !== '');
const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/);
const content: fc.Arbitrary<Content> = words.map((one) => text(one));

const samplingChanges: fc.Arbitrary<Partial<Sampling>> = fc.record(
  {
    temperature: fc.constantFrom(0, 0.25, 1.5),
    topP: fc.constantFrom(0.1, 0.5, 1),
    topK: fc.constantFrom(0, 1, 40),
    minP: fc.constantFrom(0, 0.05),
    typical: fc.constantFrom(0.5, 1),
    repetitionPenalty: fc.constantFrom(1.1, 1.5),
    repetitionRange: fc.constantFrom(1, 64, 1024),
    presencePenalty: fc.constantFrom(-1, 0.5),
    frequencyPenalty: fc.constantFrom(-1, 0.5),
    xtcProbability: fc.constantFrom(0, 0.5),
    dryMultiplier: fc.constantFrom(0, 0.8),
    mirostat: fc.constantFrom(0, 2),
    seed: fc.constantFrom(1, 42, 123_456),
    dryBreakers: fc.constantFrom<readonly string[]>([], ['\n', ':']),
  },
  { requiredKeys: [] },
);

/** `defaults` with changes. */
export function randomControls(defaults: GenerationControls): fc.Arbitrary<GenerationControls> {
  const changes: fc.Arbitrary<Partial<GenerationControls>> = fc.record(
    {
      maxTokens: fc.integer({ min: 1, max: 2000 }),
      maxContext: fc.constantFrom(512, 1024),
      stop: fc.uniqueArray(words, { minLength: 1, maxLength: 3 }),
      logitBias: fc.constantFrom<GenerationControls['logitBias']>(
        [[5, -100]],
        [
          [7, 1.5],
          [9, 2],
        ],
      ),
      bannedStrings: fc.uniqueArray(words, { minLength: 1, maxLength: 2 }),
      endTokens: fc.constantFrom('stop' as const, 'ban' as const, 'ignore' as const),
      renderSpecial: fc.boolean(),
      freshPrompt: fc.constant(true),
    },
    { requiredKeys: [] },
  );
  return fc.tuple(changes, samplingChanges).map(([own, sampling]) => ({
    ...defaults,
    ...own,
    sampling: { ...defaults.sampling, ...sampling },
  }));
}

export function randomText(defaults: GenerationControls): fc.Arbitrary<GenerationRequest> {
  const budget = fc.option<ReasoningBudget, undefined>(
    fc.constantFrom<ReasoningBudget>({ type: 'tokens', tokens: 30 }, { type: 'share', share: 0.25 }),
    { nil: undefined },
  );
  const grammar = fc.option(fc.constant({ gbnf: 'root ::= "a"', retainState: false }), { nil: undefined });
  return fc
    .tuple(randomControls(defaults), words, budget, grammar)
    .map(([controls, prompt, reasoning, rule]) => ({ ...controls, prompt, memory: '', reasoning, grammar: rule }));
}

const tool: fc.Arbitrary<Tool> = fc.record(
  {
    name,
    description: words,
    parameters: fc.constant({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
  },
  { requiredKeys: ['name', 'parameters'] },
);

/** A question, its answer, and calls with their results between, ending with a question. */
const exchange: fc.Arbitrary<readonly Message[]> = fc
  .tuple(content, fc.option(words, { nil: undefined }), content, fc.boolean(), name, words)
  .map(([asked, reasoning, answered, calls, toolName, result]): readonly Message[] => {
    const thought = reasoning === undefined ? {} : { reasoning };
    if (!calls)
      return [
        { role: 'user', content: asked },
        { role: 'assistant', content: answered, ...thought },
      ];
    const toolCalls = [{ id: `call_${toolName}`, name: toolName, json: JSON.stringify({ city: result }) }];
    return [
      { role: 'user', content: asked },
      { role: 'assistant', content: [], ...thought, toolCalls },
      { role: 'tool', content: text(`it is ${result}`), callId: `call_${toolName}`, toolName },
      { role: 'assistant', content: answered },
    ];
  });

const conversation: fc.Arbitrary<Conversation> = fc
  .tuple(
    fc.option(content, { nil: undefined }),
    fc.array(exchange, { maxLength: 3 }),
    content,
    fc.uniqueArray(tool, { maxLength: 2, selector: (one) => one.name }),
  )
  .map(([system, exchanges, last, tools]) => ({
    messages: [
      ...(system ? [{ role: 'system' as const, content: system }] : []),
      ...exchanges.flat(),
      { role: 'user' as const, content: last },
    ],
    media: [],
    tools,
  }));

export interface ChatAbilities {
  readonly toolChoice: boolean;
  readonly output: readonly OutputFormat[];
}

/** What every chat dialect can say, and of tools and formats what this one can. */
export function randomChat(
  defaults: GenerationControls,
  { toolChoice, output }: ChatAbilities,
): fc.Arbitrary<ChatRequest> {
  return fc
    .tuple(conversation, randomControls(defaults), fc.constantFrom(...output), fc.nat(3), fc.boolean())
    .map(([spoken, controls, format, choice, parallel]) => ({
      conversation: spoken,
      continueAssistantTurn: true,
      toolChoice: toolChoice ? choiceOf(spoken.tools, choice) : { type: 'auto' },
      parallelToolCalls: toolChoice ? parallel : true,
      output: format,
      reasoning: { effort: undefined, separate: true },
      templateVariables: {},
      memory: '',
      controls,
    }));
}

function choiceOf([first]: readonly Tool[], choice: number): ToolChoice {
  if (!first) return { type: 'auto' };
  const choices: readonly ToolChoice[] = [
    { type: 'auto' },
    { type: 'none' },
    { type: 'required' },
    { type: 'named', name: first.name },
  ];
  return choices[choice] as ToolChoice;
}
