import { nonsense } from './nonsense.ts';

/** A request as a client sends it; every one of them is streamed. */
export interface ClientRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A client with one long conversation, and what else it asks for. */
export interface AgentShape {
  readonly name: string;
  readonly turn: (turn: number) => ClientRequest;
  /** Sub-agents that work while the turn is answered. */
  readonly sideRequests: (turn: number) => readonly ClientRequest[];
  /** Titles, tags and the like, one after the other when the turn is answered. */
  readonly after: (turn: number) => readonly ClientRequest[];
  /** The first request of another conversation, another day and in another folder. */
  readonly anew: ClientRequest;
}

export interface AgentSizes {
  /** Words of nonsense for each token. */
  readonly words: number;
  readonly turns: number;
  /** Of the recorded sizes; smaller to see that the bench works. */
  readonly scale: number;
}

/** Shows tools, calls and results, each of them where it stays from turn to turn. */
export const agentTemplate = [
  '{%- if tools %}<|im_start|>system\n<tools>\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>\n',
  'Write a call as <tool_call>{"name": ..., "arguments": ...}</tool_call>.<|im_end|>\n{% endif %}',
  '{%- for message in messages %}<|im_start|>{{ message.role }}\n{% if message.content %}{{ message.content }}{% endif %}',
  '{%- for call in message.tool_calls or [] %}\n<tool_call>\n{"name": {{ call.function.name | tojson }}, ',
  '"arguments": {{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}',
  '{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}',
].join('');

export const replyTokens = 8;
const model = 'bench';

/**
 * The requests of three coding agents and two chat pages. Their order, their parts and the sizes of these were recorded;
 * the words are made up, the answers too, so that every server gets the same.
 */
export function agentShapes(sizes: AgentSizes): readonly AgentShape[] {
  return [claudeCode, codex, opencode, openWebUi, sillyTavern].map((shape) => shape(writer(sizes), sizes.turns));
}

/** Makes up text of so many tokens, and tools that take so many. */
interface Writer {
  readonly text: (seed: number, tokens: number) => string;
  /** Of the size that was recorded, which `scale` makes smaller. */
  readonly recorded: (seed: number, tokens: number) => string;
  readonly tools: (count: number, tokens: number) => readonly MadeUpTool[];
}

interface MadeUpTool {
  readonly name: string;
  readonly description: string;
  readonly schema: object;
}

function writer({ words, scale }: AgentSizes): Writer {
  const text = (seed: number, tokens: number) => nonsense(seed, Math.max(1, Math.round(tokens * words)));
  const recorded = (seed: number, tokens: number) => text(seed, tokens * scale);
  const schema = {
    type: 'object',
    properties: { path: { type: 'string' }, text: { type: 'string' } },
    required: ['path'],
  };
  return {
    text,
    recorded,
    tools: (count, tokens) =>
      Array.from({ length: count }, (_, index) => ({
        name: `tool_${index}`,
        description: recorded(100 + index, tokens / count - 40),
        schema,
      })),
  };
}

/** Seeds of texts that differ between conversations. */
const seedOf = (conversation: number, turn: number) => 1000 * (conversation + 1) + 2 * turn;
const callTokens = 40;
const resultTokens = 160;

/** Whether sub-agents are at work: in the middle of the conversation. */
const working = (turn: number, turns: number) => turn >= turns / 3 && turn < (2 * turns) / 3;

function claudeCode({ text, recorded, tools }: Writer, turns: number): AgentShape {
  const wire = (all: readonly MadeUpTool[]) =>
    all.map(({ name, description, schema }) => ({ name, description, input_schema: schema }));
  const allTools = wire(tools(12, 7400));
  const explorerTools = wire(tools(5, 2300));
  const billing = (suffix: string) => `x-anthropic-billing-header: cc_version=2.1.325.${suffix}; cc_entrypoint=cli;`;
  const request = (conversation: number, turn: number, agent?: string): ClientRequest => {
    const suffix = (0xe3b + 77 * conversation).toString(16).slice(-3);
    const rules = agent === undefined ? recorded(1, 1400) : recorded(2, 800);
    const environment = `/home/user/project-${conversation}\n${recorded(3, 2200)}\nToday's date is 2026-11-${10 + conversation}.`;
    const past = Array.from({ length: turn }, (_, index) => {
      const id = `toolu_${conversation}_${index}`;
      const seed = seedOf(conversation, index);
      return [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id, name: 'tool_0', input: { path: text(seed, callTokens) } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text(seed + 1, resultTokens) }] },
      ];
    });
    return {
      path: '/v1/messages?beta=true',
      headers: {
        'user-agent': 'claude-cli/2.1.325 (external, cli)',
        'x-claude-code-session-id': `session-${agent === undefined ? conversation : 0}`,
        ...(agent !== undefined && { 'x-claude-code-agent-id': agent }),
      },
      body: {
        model,
        messages: [
          { role: 'user', content: text(seedOf(conversation, 0) + 700, 60) },
          ...(agent === undefined ? [{ role: 'system', content: environment }] : []),
          ...past.flat(),
        ],
        system: [
          { type: 'text', text: billing(suffix) },
          { type: 'text', text: 'You are a coding agent.' },
          { type: 'text', text: rules },
        ],
        tools: agent === undefined ? allTools : explorerTools,
        max_tokens: replyTokens,
        stream: true,
      },
    };
  };
  const title: ClientRequest = {
    path: '/v1/messages?beta=true',
    headers: { 'user-agent': 'claude-cli/2.1.325 (external, cli)' },
    body: {
      model,
      messages: [{ role: 'user', content: `<session>\n${text(seedOf(0, 0) + 700, 60)}\n</session>` }],
      system: [
        { type: 'text', text: billing('abc') },
        { type: 'text', text: 'Write a short title for this session.' },
      ],
      max_tokens: replyTokens,
      stream: true,
    },
  };
  return {
    name: 'Claude Code',
    turn: (turn) => request(0, turn),
    sideRequests: (turn) =>
      working(turn, turns) ? [1, 2].map((number) => request(number, turn, `agent-${number}`)) : [],
    after: (turn) => (turn === 0 ? [title] : []),
    anew: request(3, 0),
  };
}

function codex({ text, recorded, tools }: Writer, turns: number): AgentShape {
  const allTools = tools(9, 4300).map(({ name, description, schema }) => ({
    type: 'function',
    name,
    description,
    parameters: schema,
  }));
  const request = (conversation: number, turn: number): ClientRequest => {
    const past = Array.from({ length: turn }, (_, index) => {
      const id = `call_${conversation}_${index}`;
      const seed = seedOf(conversation, index);
      return [
        {
          type: 'function_call',
          call_id: id,
          name: 'tool_0',
          arguments: JSON.stringify({ path: text(seed, callTokens) }),
        },
        { type: 'function_call_output', call_id: id, output: text(seed + 1, resultTokens) },
      ];
    });
    const message = (role: string, content: string) => ({
      type: 'message',
      role,
      content: [{ type: 'input_text', text: content }],
    });
    return {
      path: '/v1/responses',
      headers: {
        'user-agent': 'codex_exec/0.166.0',
        originator: 'codex_exec',
        'session-id': `session-${conversation}`,
      },
      body: {
        model,
        stream: true,
        input: [
          message('developer', recorded(11, 4250)),
          message('developer', recorded(12, 580)),
          message(
            'user',
            `<environment_context>\n/home/user/project-${conversation} 2026-11-${10 + conversation}\n</environment_context>`,
          ),
          message('user', text(seedOf(conversation, 0) + 700, 60)),
          ...past.flat(),
        ],
        tools: allTools,
        tool_choice: 'auto',
        parallel_tool_calls: true,
        store: false,
        max_output_tokens: replyTokens,
        prompt_cache_key: `session-${conversation}`,
      },
    };
  };
  return {
    name: 'Codex',
    turn: (turn) => request(0, turn),
    sideRequests: (turn) => (working(turn, turns) ? [1, 2].map((number) => request(number, turn)) : []),
    after: () => [],
    anew: request(3, 0),
  };
}

function opencode({ text, recorded, tools }: Writer, turns: number): AgentShape {
  const allTools = tools(10, 5200).map(({ name, description, schema }) => ({
    type: 'function',
    function: { name, description, parameters: schema },
  }));
  const request = (conversation: number, turn: number, offered = allTools): ClientRequest => {
    const past = Array.from({ length: turn }, (_, index) => {
      const id = `call_${conversation}_${index}`;
      const seed = seedOf(conversation, index);
      const call = { name: 'tool_0', arguments: JSON.stringify({ path: text(seed, callTokens) }) };
      return [
        { role: 'assistant', content: '', tool_calls: [{ id, type: 'function', function: call }] },
        { role: 'tool', tool_call_id: id, content: text(seed + 1, resultTokens) },
      ];
    });
    const environment = `<env>\n/home/user/project-${conversation}\nToday's date: 2026-11-${10 + conversation}\n</env>`;
    return chatRequest(
      'opencode/1.18.18 ai-sdk/provider-utils',
      [
        { role: 'system', content: `${recorded(21, 2170)}\n${environment}\n${recorded(22, 220)}` },
        { role: 'user', content: `"${text(seedOf(conversation, 0) + 700, 60)}"` },
        ...past.flat(),
      ],
      { tools: offered, tool_choice: 'auto' },
    );
  };
  const title = chatRequest('opencode/1.18.18 ai-sdk/provider-utils', [
    { role: 'system', content: `You are a title generator. ${text(23, 200)}` },
    { role: 'user', content: 'Generate a title for this conversation:\n' },
    { role: 'user', content: text(seedOf(0, 0) + 700, 60) },
  ]);
  return {
    name: 'opencode',
    turn: (turn) => request(0, turn),
    sideRequests: () => [],
    // The chat waits for its sub-agents, which have fewer tools.
    after: (turn) => [
      ...(turn === 0 ? [title] : []),
      ...(working(turn, turns) ? [1, 2].map((number) => request(number, turn, allTools.slice(0, 8))) : []),
    ],
    anew: request(3, 0),
  };
}

function openWebUi({ text, recorded }: Writer): AgentShape {
  const messagesOf = (conversation: number, turn: number) =>
    Array.from({ length: 2 * turn + 1 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: text(seedOf(conversation, index), index % 2 === 0 ? callTokens : resultTokens),
    }));
  const request = (conversation: number, turn: number) =>
    chatRequest('', [{ role: 'system', content: recorded(31, 800) }, ...messagesOf(conversation, turn)]);
  const task = (turn: number, what: string, quoted: number) => {
    const history = messagesOf(0, turn).slice(-quoted);
    const lines = history.map(({ role, content }) => `${role.toUpperCase()}: ${content}`).join('\n');
    const content = `### Task:\nWrite ${what}.\n### Chat History:\n<chat_history>\n${lines}\n</chat_history>`;
    return chatRequest('', [{ role: 'user', content }]);
  };
  return {
    name: 'Open WebUI',
    turn: (turn) => request(0, turn),
    sideRequests: () => [],
    after: (turn) => [
      task(turn, 'three follow-up questions', 6),
      ...(turn === 0 ? [task(turn, 'a concise title', 2), task(turn, 'one to three tags', 6)] : []),
    ],
    anew: request(3, 0),
  };
}

function sillyTavern({ text, recorded }: Writer): AgentShape {
  const promptOf = (conversation: number, turn: number) => {
    const lines = Array.from({ length: 2 * turn + 1 }, (_, index) => {
      const name = index % 2 === 0 ? 'You' : 'Ada';
      return `${name}: ${text(seedOf(conversation, index), index % 2 === 0 ? callTokens : resultTokens)}`;
    });
    return `${recorded(41, 1500)}\n***\n${lines.join('\n')}\nAda:`;
  };
  const request = (prompt: string): ClientRequest => ({
    path: '/v1/completions',
    body: { model, prompt, max_tokens: replyTokens, stream: true, stream_options: { include_usage: true } },
  });
  return {
    name: 'SillyTavern',
    turn: (turn) => request(promptOf(0, turn)),
    sideRequests: () => [],
    // The mood of the last message, and now and then a summary of all that was said.
    after: (turn) => [
      request(`Which mood has this?\n${text(seedOf(0, 2 * turn), callTokens)}\nMood:`),
      ...(turn % 5 === 4 ? [request(`Summarise this.\n${promptOf(0, turn)}\nSummary:`)] : []),
    ],
    anew: request(promptOf(3, 0)),
  };
}

function chatRequest(userAgent: string, messages: readonly object[], more: object = {}): ClientRequest {
  return {
    path: '/v1/chat/completions',
    ...(userAgent !== '' && { headers: { 'user-agent': userAgent } }),
    body: {
      model,
      max_tokens: replyTokens,
      messages,
      ...more,
      stream: true,
      stream_options: { include_usage: true },
    },
  };
}
