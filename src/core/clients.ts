/** What a request says about its sender; each fact may be missing. */
export interface ClientFacts {
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The system texts, an entry for each block; their beginnings are enough. */
  readonly system?: readonly string[];
  /** The last block of the user's last message; its beginning is enough. */
  readonly lastText?: string;
}

interface ClientRow {
  readonly name: string;
  /** Matches the user agent or `x-title`. */
  readonly agent?: RegExp;
  /** Matches the name of a header that only this client sends. */
  readonly header?: RegExp;
  /** Matches one of the system texts. */
  readonly system?: RegExp;
  /** Matches the last text of the user. */
  readonly asks?: RegExp;
  /** Used by many programs, which their texts tell apart. */
  readonly library?: true;
}

const clients = {
  'claude-code': {
    name: 'Claude Code',
    agent: /^claude-cli\//,
    header: /^x-claude-code-/,
    system: /^(x-anthropic-billing-header: )?cc_version=|^You are (Claude Code|a Claude agent)\b/,
  },
  codex: { name: 'Codex', agent: /^codex_\w+\//, header: /^x-codex-/, system: /^You are [^\n]{0,40}\bCodex\b/ },
  opencode: { name: 'opencode', agent: /^opencode\//, system: /^You are opencode\b/i },
  cline: { name: 'Cline', agent: /^cline(\/|$)/i, system: /^You are Cline\b/ },
  'roo-code': { name: 'Roo Code', agent: /^(RooCode\/|Roo Code$)/, system: /^You are Roo\b/ },
  'kilo-code': { name: 'Kilo Code', agent: /^Kilo[ -]?Code(\/|$)/i, system: /^You are Kilo\b/ },
  'qwen-code': { name: 'Qwen Code', agent: /^QwenCode\//, system: /^You are Qwen Code\b/ },
  goose: { name: 'Goose', agent: /^goose\//i, system: /^You are a general-purpose AI agent called goose\b/ },
  crush: { name: 'Crush', agent: /^(charm-)?crush\//i, system: /^You are Crush, a powerful AI/ },
  aider: { name: 'Aider', agent: /^aider(\/|$)/i, system: /^Act as an expert software developer\./ },
  copilot: { name: 'GitHub Copilot', agent: /^GitHubCopilotChat\// },
  zed: { name: 'Zed', agent: /^Zed\// },
  'open-webui': { name: 'Open WebUI', agent: /^Open WebUI$/, header: /^x-openwebui-/, asks: /^### Task:\s/ },
  'silly-tavern': { name: 'SillyTavern', agent: /^SillyTavern\b/ },
  'openai-sdk': { name: 'OpenAI SDK', agent: /^(Async)?OpenAI\//, library: true },
  'anthropic-sdk': { name: 'Anthropic SDK', agent: /^(Async)?Anthropic\//, library: true },
  'ollama-sdk': { name: 'Ollama library', agent: /^ollama-(python|js)\//, library: true },
  'ai-sdk': { name: 'AI SDK', agent: /^ai(-sdk)?\//, library: true },
  browser: { name: 'Browser', agent: /^Mozilla\//, library: true },
} as const satisfies Record<string, ClientRow>;

export type ClientId = keyof typeof clients;

export interface KnownClient {
  /** Undefined for a program that is not in the table. */
  readonly id?: ClientId;
  /** For people: that of the table, else the first word of the user agent. */
  readonly name: string;
}

const rows = Object.entries(clients) as readonly [ClientId, ClientRow][];

/** The program that sent a request: by its headers, else by texts that only it sends. */
export function knownClient({ headers = {}, system = [], lastText = '' }: ClientFacts): KnownClient {
  const agents = [headers['x-title'], headers['user-agent']].flatMap((value) => value ?? []);
  const names = Object.keys(headers);
  const first = (matches: (row: ClientRow) => boolean | undefined): KnownClient | undefined => {
    const row = rows.find(([, candidate]) => matches(candidate));
    return row && { id: row[0], name: row[1].name };
  };
  const isNamed = ({ agent, header }: ClientRow) =>
    agents.some((text) => agent?.test(text)) || names.some((name) => header?.test(name));
  return (
    first((row) => !row.library && isNamed(row)) ??
    first((row) => system.some((text) => row.system?.test(text)) || row.asks?.test(lastText)) ??
    first(isNamed) ?? { name: firstWord(agents.at(-1) ?? '') || 'Unknown client' }
  );
}

/** `Python` of `Python/3.12 aiohttp/3.11`: only characters that are safe to print. */
const firstWord = (agent: string): string => /^[\w.+ -]{1,40}/.exec(agent)?.[0].trim() ?? '';

/** What an auxiliary request of a conversation is for. */
export type SideTask = 'compaction' | 'title' | 'tags' | 'follow-ups' | 'search' | 'emoji';

/** The texts with which known clients ask for it. */
const sideTasks: Readonly<Record<SideTask, Pick<ClientRow, 'system' | 'asks'>>> = {
  compaction: {
    system: /^You are a context summarization agent/,
    asks: /^(CRITICAL: Respond with TEXT ONLY|You are performing a CONTEXT CHECKPOINT COMPACTION)/,
  },
  title: {
    system: /^You are a title generator/,
    asks: /^(<session>|### Task:\s+[^\n]{0,40}\btitle\b|Write a title for this conversation)/,
  },
  tags: { asks: /^### Task:\s+[^\n]{0,40}\btags\b/ },
  'follow-ups': { asks: /^### Task:\s+[^\n]{0,40}\bfollow-up/ },
  search: { asks: /^(### Task:\s+[^\n]{0,100}\bsearch quer|Perform a web search for the query:)/ },
  emoji: { asks: /^Your task is to reflect the speaker's likely facial expression/ },
};

export function sideTask({ system = [], lastText = '' }: ClientFacts): SideTask | undefined {
  return (Object.keys(sideTasks) as SideTask[]).find((task) => {
    const { system: begins, asks } = sideTasks[task];
    return asks?.test(lastText) || system.some((text) => begins?.test(text));
  });
}
