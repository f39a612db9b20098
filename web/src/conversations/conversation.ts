import type { WorldEntry } from '../story/story.ts';
import type { DepthPrompt } from './character.ts';
import type { ImageSize } from './image-size.ts';

/** A file in a message. Images and audio are kept as they are, text files as their text. */
export interface Attachment {
  readonly id: string;
  readonly kind: 'image' | 'audio' | 'text';
  readonly name: string;
  readonly blob?: Blob;
  /** Of an image, so that its place is known before it is loaded. */
  readonly size?: ImageSize;
  readonly text?: string;
  /** Where it came from, if it is a web page or a resource. */
  readonly url?: string;
  /** How a document is sent: whole, or only the passages that fit each question. Set when the message is sent. */
  readonly send?: 'whole' | 'passages';
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

/** A running reply; it can be fetched by this key. */
export interface Pending {
  readonly genkey: string;
  readonly since: number;
  /** The text before the reply, when a reply is continued. */
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
  /** The call that this tool result belongs to. */
  readonly callId?: string;
  readonly toolName?: string;
  /** Prompt of a generated image. */
  readonly drawn?: string;
  readonly model?: string;
  readonly finish?: string;
  /** Why it ended too early, for people. */
  readonly failed?: string;
  readonly statistics?: Statistics;
  readonly chances?: readonly TokenChance[];
  readonly pending?: Pending;
  /** Id of the character that speaks. */
  readonly speaker?: string;
  /** Name of the character or persona at that time, shown if it was deleted since. */
  readonly name?: string;
  /** Collections of the server that go with this message alone. */
  readonly collections?: readonly TakenCollection[];
  /** What was remembered when this message was sent, and went with it. */
  readonly memories?: readonly string[];
  /** Results of a web search go with this message, whatever the chat says. */
  readonly webSearch?: boolean;
  /** Passages of documents and results of searches that were sent with this message. */
  readonly sources?: readonly Source[];
}

/** A passage that the model was given. */
export interface Source {
  /** Name of the document with the place of the passage, or title of the page, as the model reads it. */
  readonly title: string;
  /** Of a passage of a collection, to write its title in the language of the page. */
  readonly location?: PassageLocation;
  readonly url?: string;
  readonly text: string;
  /** Of a passage of a collection: its id on the server. */
  readonly passage?: string;
  /** Where its text stands in the document, in UTF-16 units: neighbours of the passage may be joined to it. */
  readonly span?: { readonly start: number; readonly end: number };
  readonly found?: FoundBy;
}

/** Where a passage of a collection stands. */
export interface PassageLocation {
  /** Of its document. */
  readonly name: string;
  readonly page?: number | null;
  readonly headings?: readonly string[];
  readonly line?: number | null;
}

/** How a passage was found: its rank, from 1, by meaning and by words, and the score of the reranker, 0 to 1. */
export interface FoundBy {
  readonly vector?: number;
  readonly keywords?: number;
  readonly reranked?: number;
}

/** A collection of the server that goes with messages. */
export interface TakenCollection {
  readonly id: string;
  /** At that time, for sentences about it. */
  readonly name: string;
}

/** A collection that goes with every message of a chat. */
export interface ChatCollection extends TakenCollection {
  /** It belongs to all chats of this folder, as long as this chat is in it. */
  readonly folder?: string;
}

/** A message that is sent when the running reply is done. */
export interface QueuedMessage extends Pick<Turn, 'id' | 'text' | 'attachments' | 'collections' | 'webSearch'> {
  /** Prefill of the reply. */
  readonly prefill?: string;
}

/** Several replies to a message that are shown side by side, until one is chosen. */
export interface Comparison {
  /** The replies in the order in which they are shown. */
  readonly candidates: readonly { readonly id: string; readonly label: string }[];
  /** Names are hidden. */
  readonly blind: boolean;
}

/** A summary of the start of a chat, sent instead of it. */
export interface Summary {
  readonly text: string;
  /** The last turn that is summarized. */
  readonly upTo: string;
}

/** A tree of turns. Of the turns with the same parent one is chosen; the chosen ones from the root are shown. */
export interface Chat {
  readonly id: string;
  readonly title: string;
  /** The person set the title; otherwise it is taken from the first message. */
  readonly titled: boolean;
  readonly folder: string;
  readonly createdAt: number;
  readonly changedAt: number;
  readonly turns: Readonly<Record<string, Turn>>;
  /** Chosen turn by parent id; `root` for the first turns. */
  readonly chosen: Readonly<Record<string, string>>;
  /** System prompt of this chat; the settings apply if undefined. */
  readonly system?: string;
  /** Tools offered in this chat, and those that run without approval. */
  readonly tools?: readonly string[];
  readonly trusted?: readonly string[];
  readonly pinned?: boolean;
  /** Ids of the characters in turn order; more than one makes a group chat. */
  readonly characters?: readonly string[];
  /** How the next speaker of a group is chosen. */
  readonly turnOrder?: 'list' | 'mentioned' | 'random' | 'manual';
  readonly persona?: string;
  /** `names` sends the messages as `Name: text` without the chat template of the model. */
  readonly promptForm?: 'template' | 'names';
  readonly note?: DepthPrompt;
  readonly world?: readonly WorldEntry[];
  readonly summary?: Summary;
  /** The start of the chat is summarized when the context fills. */
  readonly autoSummary?: boolean;
  /** Characters of the group that do not speak. */
  readonly muted?: readonly string[];
  /** Characters of the group go on talking without a message of the person. */
  readonly autoReply?: boolean;
  /** Stop sequences of this chat, besides those of the settings. */
  readonly stops?: readonly string[];
  /** Results of a web search go with each message. */
  readonly webSearch?: boolean;
  /** Collections that are searched for each message. */
  readonly collections?: readonly ChatCollection[];
  readonly comparison?: Comparison;
  /** The next messages, in order. */
  readonly queued?: readonly QueuedMessage[];
}
