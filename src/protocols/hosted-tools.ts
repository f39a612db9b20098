import type { HostedTools, WebToolLimits } from '../chat/server-tools/hosted.ts';
import type { Source } from '../core/server-tools.ts';
import type { JsonObject } from '../http/body.ts';
import * as f from './fields.ts';

const readDomains = f.optional(f.listOf(f.readName));
const maxDomains = 100;

/** `allowed_domains` and `blocked_domains`, of which only one may be given. */
export function domainLists(sent: JsonObject, field: string): Pick<WebToolLimits, 'allowedDomains' | 'blockedDomains'> {
  const allowed = f.readAt(sent, 'allowed_domains', field, readDomains);
  const blocked = f.readAt(sent, 'blocked_domains', field, readDomains);
  if (allowed && blocked) throw f.wrong(`${field}.blocked_domains`, 'absent where allowed_domains is given');
  if ((allowed ?? blocked ?? []).length > maxDomains) throw f.wrong(field, `at most ${maxDomains} domains`);
  return { ...(allowed && { allowedDomains: allowed }), ...(blocked && { blockedDomains: blocked }) };
}

/** Of one request. */
const maxServers = 16;

export function refuseManyServers(count: number, field: string): void {
  if (count > maxServers) throw f.wrong(field, `a list with at most ${maxServers} MCP servers`);
}

/** Headers of the protocol itself. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|accept.*|mcp-.*)$/i;

/** The credentials that a client sends for an MCP server. */
export function clientHeaders(token: string | undefined, sent: JsonObject, field: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(sent)) {
    if (ownHeaders.test(name)) throw f.wrong(`${field}.headers`, `without ${name}, which this server sets`);
    headers[name.toLowerCase()] = f.readText(value, `${field}.headers.${name}`);
  }
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  try {
    new Headers(headers);
  } catch {
    // The message of the library repeats the value.
    throw f.wrong(field, 'without characters in its token and headers that no header can have');
  }
  return headers;
}

/** Where the user is, in words. */
export function userLocation(
  sent: JsonObject | undefined,
  field: string,
): Pick<NonNullable<HostedTools['search']>, 'location'> {
  if (!sent) return {};
  const parts = ['city', 'region', 'country', 'timezone'].flatMap((name) => {
    const part = f.readAt(sent, name, field, f.optionalText)?.slice(0, 100).trim();
    return part ? [part] : [];
  });
  return parts.length > 0 ? { location: parts.join(', ') } : {};
}

/** How much of each page the model reads. */
export function contextSizeOf(size: 'low' | 'medium' | 'high' | undefined) {
  return size === 'low' ? { passageCharacters: 300 } : {};
}

export const readContextSize = f.optional(f.word('low', 'medium', 'high'));

/** The cited part of a text, whose positions are in UTF-16 units, in the fields of the OpenAI APIs: they count characters. */
export function urlCitation(text: string, { source, start, end }: { source: Source; start: number; end: number }) {
  const before = Array.from(text.slice(0, start)).length;
  const { url, title } = source;
  return { url, title, start_index: before, end_index: before + Array.from(text.slice(start, end)).length };
}

/** Notes on web search, for every dialect that has it. */
export const searchNote =
  'Run by this server with --websearch, and refused without it. The model calls it as often as it needs to, for up to 8 rounds (--mcpserverloop N changes that).';
export const citationNote =
  'Citations are what the reply itself shows: the number of a page in brackets, its address, or at least 20 characters between quotation marks that stand word for word in the page.';
