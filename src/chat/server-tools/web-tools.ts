import { AppError } from '../../core/errors.ts';
import type { ServerCall, ServerOutcome, ServerToolErrorCode, Source } from '../../core/server-tools.ts';
import type { PageText, WebSearch } from '../../core/web-search.ts';
import type { Tool } from '../messages.ts';
import { domainRule, type KnownAddresses, withSites } from './domains.ts';
import type { HostedTools, WebToolLimits } from './hosted.ts';

/** A tool that the server runs for a request, as an item of the reply. */
export interface HostedTool {
  /** As the model sees it. */
  readonly tool: Tool;
  readonly kind: ServerCall['kind'];
  readonly name: string;
  readonly server?: string;
  readonly needsApproval?: boolean;
  run(call: ServerCall, options: RunOptions): Promise<ServerOutcome>;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  /** How much text the model can read. */
  readonly characters: number;
}

export const maxQueryLength = 1000;
const maxUrlLength = 2000;
/** Of text, a low estimate. */
const charactersPerToken = 3;

export function searchTool(hosted: NonNullable<HostedTools['search']>, web: WebSearch): HostedTool {
  const allows = domainRule(hosted);
  const near = hosted.location === undefined ? '' : ` The user is near ${hosted.location}.`;
  const isUsed = uses(hosted);
  return {
    tool: {
      name: 'web_search',
      description: `Searches the web for current information. The result has pages with a number; cite them by it, like [1].${near}`,
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
    kind: 'search',
    name: 'web_search',
    async run({ input: { query } }, { signal, characters }) {
      if (typeof query !== 'string' || query.trim() === '') return failed('invalid_tool_input');
      if (query.length > maxQueryLength) return failed('query_too_long');
      if (isUsed()) return failed('max_uses_exceeded');
      const answer = await unlessBusy(web.find(withSites(query, hosted), signal, allows));
      if ('type' in answer) return answer;
      if (answer.problem !== undefined) return failed('unavailable', answer.problem);
      const each = Math.min(hosted.passageCharacters ?? characters, Math.floor(characters / answer.pages.length));
      const sources = answer.pages.map(({ url, title, description, content }): Source => {
        return { url, title, text: cut(content || description, each) };
      });
      return { type: 'sources', sources };
    },
  };
}

export function fetchTool(
  hosted: NonNullable<HostedTools['fetch']>,
  web: WebSearch,
  { known, now }: { readonly known: KnownAddresses; readonly now: () => Date },
): HostedTool {
  const allows = domainRule(hosted);
  const isUsed = uses(hosted);
  return {
    tool: {
      name: 'web_fetch',
      description: 'Fetches the text of a web page. Its address must be in the conversation or in a result.',
      parameters: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
    },
    kind: 'fetch',
    name: 'web_fetch',
    async run({ input: { url } }, { signal, characters }) {
      if (typeof url !== 'string' || !URL.canParse(url)) return failed('invalid_tool_input');
      if (url.length > maxUrlLength) return failed('url_too_long');
      if (!/^https?:/i.test(url) || allows?.(new URL(url)) === false) return failed('url_not_allowed');
      if (!known.has(url)) return failed('url_not_in_prior_context');
      if (isUsed()) return failed('max_uses_exceeded');
      const page = await unlessBusy(web.text(url, signal, allows));
      if ('type' in page) return page;
      if ('problem' in page) return failed(pageErrors[page.cause], page.problem);
      const limit = (hosted.maxContentTokens ?? Number.POSITIVE_INFINITY) * charactersPerToken;
      const source = { url, title: page.title, text: cut(page.text, Math.min(limit, characters)) };
      return { type: 'page', source, retrievedAt: now().toISOString() };
    },
  };
}

const pageErrors: Readonly<Record<Extract<PageText, { problem: string }>['cause'], ServerToolErrorCode>> = {
  unreachable: 'url_not_accessible',
  'not-allowed': 'url_not_allowed',
  'too-large': 'content_too_large',
  'no-text': 'unsupported_content_type',
};

/** Counts a use; true if there are none left. */
export function uses({ maxUses = Number.POSITIVE_INFINITY }: Pick<WebToolLimits, 'maxUses'>): () => boolean {
  let count = 0;
  return () => ++count > maxUses;
}

export async function unlessBusy<Answer>(answer: Promise<Answer>) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') return failed('too_many_requests');
    throw error;
  }
}

/** The reason is for the console: the model reads the sentence of the code, which clients can send back. */
export function failed(code: ServerToolErrorCode, reason: string = sentences[code]): ServerOutcome & { type: 'error' } {
  return { type: 'error', code, reason };
}

const sentences: Readonly<Record<ServerToolErrorCode, string>> = {
  invalid_tool_input: 'Its arguments are not those of its schema.',
  unavailable: 'There is no answer at the moment.',
  max_uses_exceeded: 'It cannot be used again for this answer.',
  too_many_requests: 'Too many requests are running. Answer without it, or try again.',
  query_too_long: `The query is longer than ${maxQueryLength} characters.`,
  url_too_long: `The address is longer than ${maxUrlLength} characters.`,
  url_not_allowed: 'This address is not allowed.',
  url_not_in_prior_context: 'Only addresses from the conversation and from results can be fetched.',
  url_not_accessible: 'The page cannot be reached.',
  unsupported_content_type: 'The address holds no text.',
  content_too_large: 'The page is too large.',
};

/** What the model reads of a result. `number` is that of its first page. */
export function outcomeText(outcome: ServerOutcome, number: number): string {
  switch (outcome.type) {
    case 'sources':
      return outcome.sources.map((source, index) => sourceText(source, number + index)).join('\n\n') || 'No results.';
    case 'page':
      return sourceText(outcome.source, number);
    case 'result':
      return outcome.text;
    case 'error':
      // Other servers may have other codes.
      return `The tool failed: ${sentences[outcome.code] ?? outcome.code}`;
  }
}

export function sourcesOf(outcome: ServerOutcome): readonly Source[] {
  if (outcome.type === 'page') return [outcome.source];
  return outcome.type === 'sources' ? outcome.sources : [];
}

function sourceText({ url, title, text, location }: Source, number: number): string {
  // The address of a passage is for people.
  return [`[${number}] ${title}`.trim(), location ? '' : url, text].filter((line) => line !== '').join('\n');
}

export function cut(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).replace(/[\ud800-\udbff]$/, '');
}
