import type { Attributes } from './documents.ts';
import type { ServedTool } from './tool-servers.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A page or a passage that a model was shown. Its number in the conversation, from 1, is how a model cites it. */
export interface Source {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  /** Of a passage: where it is from. */
  readonly location?: SourceLocation;
}

/** Where a passage is from: a collection, a document that the request brought along, or one of its search results. */
export type SourceLocation =
  | {
      readonly type: 'passage';
      readonly file: string;
      readonly name: string;
      readonly score: number;
      readonly attributes: Attributes;
    }
  | {
      readonly type: 'document';
      /** Of all documents of the request, from 0. */
      readonly index: number;
      /** Of an uploaded file. */
      readonly file?: string;
      readonly range: PassageRange;
    }
  | { readonly type: 'search-result'; readonly index: number; readonly source: string; readonly block: number };

/** Characters and blocks count from 0, pages from 1. */
type PassageRange =
  | { readonly type: 'characters'; readonly start: number; readonly end: number }
  | { readonly type: 'page'; readonly page: number }
  | { readonly type: 'block'; readonly block: number };

/** A call that the server runs itself and reports to the client. */
export interface ServerCall {
  readonly id: string;
  readonly kind: 'search' | 'fetch' | 'mcp' | 'documents';
  /** On its server, which may differ from the name that the model sees. */
  readonly name: string;
  /** The MCP server, by the name that the client gave it. */
  readonly server?: string;
  /** The request for approval that a person agreed to. */
  readonly approval?: string;
  /** The JSON that the model wrote, and its value if that is an object. */
  readonly json: string;
  readonly input: Fields;
}

/** The codes of the Messages API. */
export type ServerToolErrorCode =
  | 'invalid_tool_input'
  | 'unavailable'
  | 'max_uses_exceeded'
  | 'too_many_requests'
  | 'query_too_long'
  | 'url_too_long'
  | 'url_not_allowed'
  | 'url_not_in_prior_context'
  | 'url_not_accessible'
  | 'unsupported_content_type'
  | 'content_too_large';

export type ServerOutcome =
  | { readonly type: 'sources'; readonly sources: readonly Source[] }
  | { readonly type: 'page'; readonly source: Source; readonly retrievedAt: string }
  /** The text that the model reads. */
  | { readonly type: 'result'; readonly text: string; readonly failed: boolean }
  | { readonly type: 'error'; readonly code: ServerToolErrorCode; readonly reason: string };

/** What the server did for a reply, in the order of its text. */
export type ServerToolStep =
  /** The tools of an MCP server, or why there are none. Before the first text. */
  | { readonly type: 'listed'; readonly server: string; readonly tools: readonly ServedTool[]; readonly error?: string }
  /** A call that a person has to approve first: the reply ends. */
  | { readonly type: 'approval'; readonly call: ServerCall }
  | { readonly type: 'call'; readonly call: ServerCall }
  | { readonly type: 'outcome'; readonly call: ServerCall; readonly outcome: ServerOutcome }
  /** `length` UTF-16 units of the text cite a source; `back` more follow them in the text so far. */
  | {
      readonly type: 'citation';
      readonly source: Source;
      readonly length: number;
      readonly back: number;
      /** Words of the source, and where its text has them; undefined if the text only names the source. */
      readonly quote?: { readonly text: string; readonly start: number };
      readonly fetched: boolean;
    };
