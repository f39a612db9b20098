import { expect, test } from 'vitest';
import { type ClientFacts, knownClient, sideTask } from './clients.ts';

const agent = (text: string): ClientFacts => ({ headers: { 'user-agent': text } });

test.each<[string, string | undefined, ClientFacts]>([
  ['Claude Code', 'claude-code', agent('claude-cli/2.1.325 (external, sdk-cli)')],
  ['Claude Code', 'claude-code', { headers: { 'x-claude-code-session-id': 'a' } }],
  [
    'Claude Code',
    'claude-code',
    { system: ['x-anthropic-billing-header: cc_version=2.1.325.e3b; cc_entrypoint=cli;'] },
  ],
  ['Codex', 'codex', agent('codex_exec/0.166.0 (Linux; arm64)')],
  ['Codex', 'codex', agent('codex_cli_rs/0.98.0')],
  ['opencode', 'opencode', agent('opencode/1.18.18 ai-sdk/provider-utils/4.0.1 runtime/bun/1.3.2')],
  ['Qwen Code', 'qwen-code', agent('QwenCode/0.14.0 (linux; x64)')],
  ['Cline', 'cline', { headers: { 'user-agent': 'OpenAI/JS 5.12.2', 'x-title': 'Cline' } }],
  ['Roo Code', 'roo-code', agent('RooCode/3.53.0')],
  ['Cline', 'cline', { ...agent('OpenAI/JS 5.12.2'), system: ['You are Cline, a highly skilled software engineer'] }],
  ['Goose', 'goose', { system: ['You are a general-purpose AI agent called goose, created by AAIF.'] }],
  ['Aider', 'aider', { ...agent('OpenAI/Python 1.99.1'), system: ['Act as an expert software developer.\nAlways'] }],
  ['Open WebUI', 'open-webui', { ...agent('Python/3.11 aiohttp/3.12'), lastText: '### Task:\nSuggest 3-5 relevant' }],
  ['Open WebUI', 'open-webui', { headers: { 'user-agent': 'Python/3.11 aiohttp/3.12', 'x-openwebui-user-id': '1' } }],
  ['OpenAI SDK', 'openai-sdk', agent('AsyncOpenAI/Python 1.99.1')],
  ['Anthropic SDK', 'anthropic-sdk', agent('Anthropic/JS 1.8.0')],
  ['Browser', 'browser', agent('Mozilla/5.0 (X11; Linux x86_64)')],
  ['curl', undefined, agent('curl/8.5.0')],
  ['Python', undefined, agent('Python/3.11 aiohttp/3.12')],
  ['Unknown client', undefined, {}],
  ['Unknown client', undefined, agent('\u001b[31m')],
])('knownClient: %s (%s) by %j', (name, id, facts) => {
  expect(knownClient(facts)).toEqual(id === undefined ? { name } : { id, name });
});

test.each<[ReturnType<typeof sideTask>, ClientFacts]>([
  ['title', { lastText: '### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.' }],
  ['title', { lastText: '### Task:\nGenerate a concise title summarizing the chat history.' }],
  ['title', { lastText: '<session>\nFix the bug\n</session>' }],
  ['title', { system: ['You are a title generator. You output ONLY a thread title.'], lastText: 'Fix the bug' }],
  ['title', { lastText: 'Write a title for this conversation in its language: at most 6 words' }],
  ['tags', { lastText: '### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history' }],
  ['follow-ups', { lastText: '### Task:\nSuggest 3-5 relevant follow-up questions or prompts' }],
  [
    'search',
    { lastText: '### Task:\nAnalyze the chat history to determine the necessity of generating search queries' },
  ],
  ['search', { lastText: 'Perform a web search for the query: llama.cpp' }],
  ['compaction', { lastText: 'CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.' }],
  ['compaction', { lastText: 'You are performing a CONTEXT CHECKPOINT COMPACTION. Create a summary' }],
  ['compaction', { system: ['You are a context summarization agent'] }],
  [undefined, { lastText: 'Which title would suit this chapter?' }],
  [undefined, {}],
])('sideTask: %s by %j', (task, facts) => {
  expect(sideTask(facts)).toBe(task);
});
