/** What somebody has put into a message besides words. Pictures and sounds are kept as they are, text files as their text. */
export interface Attachment {
  readonly id: string;
  readonly kind: 'image' | 'audio' | 'text';
  readonly name: string;
  readonly blob?: Blob;
  readonly text?: string;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

export interface Statistics {
  readonly tokens: number;
  readonly promptTokens: number;
  readonly perSecond: number;
  readonly firstTokenMs: number;
}

export interface TokenChance {
  readonly token: string;
  readonly probability: number;
  readonly others: readonly { readonly token: string; readonly probability: number }[];
}

/** A reply that is being written: under this key the server can be asked for it again. */
export interface Pending {
  readonly genkey: string;
  readonly since: number;
  /** What stood there before, where a text is continued. */
  readonly prefix: string;
}

export interface Turn {
  readonly id: string;
  readonly parent: string | null;
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  readonly at: number;
  readonly reasoning?: string;
  readonly attachments?: readonly Attachment[];
  readonly calls?: readonly ToolCall[];
  /** Of a result: the call that it answers. */
  readonly callId?: string;
  readonly toolName?: string;
  /** Of a drawn picture: what it was to show. */
  readonly drawn?: string;
  readonly model?: string;
  readonly finish?: string;
  /** Why it ended too early, in words for people. */
  readonly failed?: string;
  readonly statistics?: Statistics;
  readonly chances?: readonly TokenChance[];
  readonly pending?: Pending;
}

/** A tree of turns. Of the turns that share a parent one is chosen; the chosen ones from the root are the path that is shown. */
export interface Chat {
  readonly id: string;
  readonly title: string;
  /** Somebody gave the title; otherwise it follows the first message. */
  readonly titled: boolean;
  readonly folder: string;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly turns: Readonly<Record<string, Turn>>;
  /** By the id of the parent, `root` for the first turns. */
  readonly chosen: Readonly<Record<string, string>>;
  /** For this chat alone; undefined leaves it to the settings. */
  readonly system?: string;
  /** The tools that are offered in this chat, and those that run unasked. */
  readonly tools?: readonly string[];
  readonly trusted?: readonly string[];
}
