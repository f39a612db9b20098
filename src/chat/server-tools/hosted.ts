import type { Source } from '../../core/server-tools.ts';
import type { ServedTool } from '../../core/tool-servers.ts';

/** Tools that a client asks the server to run for one request. */
export interface HostedTools {
  readonly search?: WebToolLimits & {
    /** Where the user is, in words. */
    readonly location?: string;
    /** Of the passage of each page; default: all of it. */
    readonly passageCharacters?: number;
  };
  readonly fetch?: WebToolLimits & { readonly maxContentTokens?: number };
  /** A search in collections of documents. */
  readonly documents?: HostedDocuments;
  /** The memory tool of the Messages API. */
  readonly memory?: true;
  readonly mcp?: readonly HostedServer[];
  /** Run before the model answers: their results take the place of the tool messages with these ids. */
  readonly approved?: readonly ApprovedCall[];
  /** The pages that results in the conversation have, in order. */
  readonly sources: readonly Source[];
  /** Whether the dialect shows each call as an item of the reply; otherwise an empty line separates the texts around it. */
  readonly itemized: boolean;
  /**
   * Passages are cited by their number in brackets: numbers that no source has are dropped from the text, and all others, too, where
   * the dialect has citations without marks (`strip`).
   */
  readonly marks?: 'keep' | 'strip';
}

export interface HostedDocuments {
  /** The passages for a question, the best first. */
  readonly find: (query: string, signal: AbortSignal) => Promise<readonly Source[]>;
  readonly maxUses?: number;
}

export interface WebToolLimits {
  /** Its path in the request, for errors. */
  readonly field: string;
  readonly allowedDomains?: readonly string[];
  readonly blockedDomains?: readonly string[];
  readonly maxUses?: number;
}

/** An MCP server that a client names. */
export interface HostedServer {
  /** Its path in the request, for errors. */
  readonly field: string;
  readonly name: string;
  readonly url: string;
  /** Only for a server that is not in the file: these are the credentials of the client. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly offers: (tool: ServedTool) => boolean;
  /** Whether a person has to approve a call first. */
  readonly needsApproval?: (tool: ServedTool) => boolean;
  /** Whether the reply shows the list of its tools. */
  readonly isListed?: boolean;
}

export interface ApprovedCall {
  /** Its path in the request, for errors. */
  readonly field: string;
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly json: string;
}
