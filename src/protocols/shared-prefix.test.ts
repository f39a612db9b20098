import { describe, expect, test } from 'vitest';
import type { RequestObserver } from '../core/request-observer.ts';
import { messagesEndpoints } from './messages/routes.ts';
import { openaiEndpoints } from './openai/routes.ts';
import { responseState } from './responses/background.ts';
import { responsesEndpoints } from './responses/routes.ts';
import { bindAll } from './testing/bind.ts';
import { finishEvent, startEvent } from './testing/doubles.ts';
import { type SdkOptions, sdkWorld } from './testing/sdk-world.ts';

/** As most templates: tools behind the system prompt, then the turns. */
const template = String.raw`
{%- if messages[0].role == 'system' %}{{ '<|im_start|>system\n' + messages[0].content }}{% endif -%}
{%- if tools %}{{ '\n\n# Tools\n' + (tools | tojson) + '<tool_call>' }}{% endif -%}
{{- '<|im_end|>\n' -}}
{%- for m in (messages[1:] if messages[0].role == 'system' else messages) -%}
  {{- '<|im_start|>' + m.role + '\n' + m.content -}}
  {%- for c in m.tool_calls or [] %}{{ '<tool_call>' + (c.function | tojson) }}{% endfor -%}
  {{- '<|im_end|>\n' -}}
{%- endfor -%}
{{- '<|im_start|>assistant\n' -}}`;

interface Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

const schema = { type: 'object', properties: { path: { type: 'string' } } };

interface Chat {
  readonly question: string;
  readonly folder: string;
  readonly date: string;
}

/** The order and the parts of the requests that the programs send; the words are made up. */
const recorded = {
  claudeCode: ({ question, folder, date }: Chat, suffix: string): Request => ({
    path: '/v1/messages?beta=true',
    headers: { 'user-agent': 'claude-cli/2.1.325 (external, cli)' },
    body: {
      model: 'any',
      max_tokens: 100,
      system: [
        { type: 'text', text: `x-anthropic-billing-header: cc_version=2.1.325.${suffix}; cc_entrypoint=cli;` },
        { type: 'text', text: 'You are a coding agent.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'Work with care.', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '<system-reminder>Rules of the project.</system-reminder>' },
            { type: 'text', text: question },
          ],
        },
        { role: 'system', content: `Working folder: ${folder}\nAgents: explore\nSkills: none\nThe date is ${date}.` },
      ],
      tools: [{ name: 'read', description: 'Reads a file', input_schema: schema }],
      thinking: { type: 'adaptive', display: 'omitted' },
    },
  }),
  codex: ({ question, folder, date }: Chat, rest: readonly object[], tools = [{ ...codexTool }]): Request => ({
    path: '/v1/responses',
    headers: { 'user-agent': 'codex_exec/0.166.0 (linux)', originator: 'codex_exec' },
    body: {
      model: 'any',
      input: [
        codexMessage('developer', 'Work with care.'),
        codexMessage('developer', 'Skills: none'),
        codexMessage('user', `<environment_context>\n${folder} ${date}\n</environment_context>`),
        codexMessage('user', question),
        ...rest,
      ],
      tools,
      tool_choice: 'auto',
      store: false,
    },
  }),
  opencode: ({ question, folder, date }: Chat): Request => ({
    path: '/v1/chat/completions',
    headers: { 'user-agent': 'opencode/1.18.18 ai-sdk/provider-utils' },
    body: {
      messages: [
        {
          role: 'system',
          content: `Work with care.\nThis is the environment:\n<env>\n  Folder: ${folder}\n  Today's date: ${date}\n</env>\nSkills: none`,
        },
        { role: 'user', content: `"${question}"` },
      ],
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads a file', parameters: schema } }],
      tool_choice: 'auto',
    },
  }),
};

const codexTool = { type: 'function', name: 'read', description: 'Reads a file', parameters: schema };

function codexMessage(role: string, text: string) {
  return { type: 'message', role, content: [{ type: 'input_text', text }] };
}

async function promptsOf(requests: readonly Request[], options: SdkOptions = {}) {
  const changes: string[] = [];
  const watch: RequestObserver = { rearranged: (all) => void changes.push(...all) };
  const { base, asked } = await sdkWorld(
    [startEvent(), finishEvent()],
    (parts) => [
      ...bindAll(openaiEndpoints(parts), { ...parts, replacePlaceholders: (texts) => texts }),
      ...bindAll(responsesEndpoints(responseState(), parts), parts),
      ...bindAll(messagesEndpoints(parts), parts),
    ],
    { template, server: { observeRequest: () => watch }, ...options },
  );
  for (const { path, headers, body } of requests) {
    const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
  }
  return { prompts: asked.map(({ request }) => request.prompt), asked, changes };
}

function shared([one = '', other = '']: readonly string[]): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

const monday: Chat = { question: 'Why does it fail?', folder: '/home/user/one', date: '2026-11-16' };
const tuesday: Chat = { question: 'Add a test.', folder: '/home/user/two', date: '2026-11-17' };
const sameDay: Chat = { ...monday, question: 'Add a test.' };

describe('Claude Code', () => {
  test('conversations share system prompt and tools; on one day and in one folder also the notes', async () => {
    const [first, second] = [recorded.claudeCode(monday, 'e3b'), recorded.claudeCode(tuesday, '77a')];
    const { prompts, changes } = await promptsOf([first, second]);
    expect(shared(prompts)).toMatch(/Work with care\.[\s\S]*Reads a file[\s\S]*Working folder: \/home\/user\/$/);
    expect(prompts[0]).not.toContain('billing');
    for (const words of ['Rules of the project.', 'Why does it fail?', 'Skills: none', 'The date is 2026-11-16.']) {
      expect(prompts[0]).toContain(words);
    }
    expect(new Set(changes)).toEqual(
      new Set([
        'The billing line of the system prompt was left out.',
        'The notes of the system were moved from behind the first question to before it.',
      ]),
    );
    const same = await promptsOf([first, recorded.claudeCode(sameDay, '012')]);
    expect(shared(same.prompts)).toMatch(/The date is 2026-11-16\.[\s\S]*Rules of the project\.[^W]*$/);
  });

  test('later turns extend the first one', async () => {
    const first = recorded.claudeCode(monday, 'e3b');
    const { messages, ...rest } = first.body as { messages: readonly object[] };
    const more = [
      { role: 'assistant', content: [{ type: 'text', text: 'I see.' }] },
      { role: 'user', content: 'And now?' },
    ];
    const { prompts } = await promptsOf([first, { ...first, body: { ...rest, messages: [...messages, ...more] } }]);
    expect(prompts[1]?.startsWith(prompts[0] ?? '-')).toBe(true);
  });

  test('is known by its texts, too', async () => {
    const { body, path } = recorded.claudeCode(monday, 'e3b');
    const { prompts } = await promptsOf([{ path, headers: {}, body }]);
    expect(prompts[0]).not.toContain('billing');
  });
});

test('opencode: conversations share system prompt and tools', async () => {
  const { prompts, changes } = await promptsOf([recorded.opencode(monday), recorded.opencode(tuesday)]);
  expect(shared(prompts)).toMatch(/Work with care\.\nSkills: none[\s\S]*Reads a file[\s\S]*Folder: \/home\/user\/$/);
  expect(prompts[0]).toContain(
    `user\nThis is the environment:\n<env>\n  Folder: /home/user/one\n  Today's date: 2026-11-16\n</env>\n\n"Why does it fail?"`,
  );
  expect(changes[0]).toBe('The environment was moved from the system prompt to the first question.');
});

describe('Codex', () => {
  const called = [
    { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"path":"a"}' },
    { type: 'function_call_output', call_id: 'c1', output: 'text of a' },
  ];
  const summary = codexMessage('user', 'You are performing a CONTEXT CHECKPOINT COMPACTION. Write a summary.');
  const compaction = recorded.codex(monday, [...called, summary], []);

  test('conversations share system prompt and tools as they are sent', async () => {
    const { prompts, changes } = await promptsOf([recorded.codex(monday, []), recorded.codex(tuesday, [])]);
    expect(shared(prompts)).toMatch(/Work with care\.[\s\S]*Reads a file[\s\S]*Skills: none[\s\S]*\/home\/user\/$/);
    expect(changes).toEqual([]);
  });

  test('the summary of a chat begins with the chat, and cannot call a tool', async () => {
    const { prompts, asked, changes } = await promptsOf([recorded.codex(monday, called), compaction]);
    const history = prompts[0]?.replace(/<\|im_start\|>assistant\n$/, '') ?? '-';
    expect(prompts[1]?.startsWith(history)).toBe(true);
    expect(asked[1]?.request).toMatchObject({ grammar: undefined, bannedStrings: ['<tool_call>'] });
    expect(changes).toHaveLength(1);
  });

  test('the summary of an unknown chat has no tools', async () => {
    const other = recorded.codex(tuesday, called);
    const { prompts, asked } = await promptsOf([other, compaction]);
    expect(prompts[1]).not.toContain('Reads a file');
    expect(asked[1]?.request.bannedStrings).toEqual([]);
  });
});

test('--exactprompts: every text stays where it is', async () => {
  const requests = [recorded.claudeCode(monday, 'e3b'), recorded.opencode(monday)];
  const { prompts, changes } = await promptsOf(requests, { exactPrompts: true });
  expect(prompts[0]).toMatch(
    /^<\|im_start\|>system\nx-anthropic-billing-header: [\s\S]*Why does it fail\?\n<system>\nWorking/,
  );
  expect(prompts[1]).toMatch(/Work with care\.\nThis is the environment:\n<env>[\s\S]*Skills: none\n\n# Tools/);
  expect(changes).toEqual([]);
});
