import type { AllowsUrl } from '../../core/web-search.ts';
import type { WebToolLimits } from './hosted.ts';

type Lists = Pick<WebToolLimits, 'allowedDomains' | 'blockedDomains'>;

/** A domain with its subdomains, or the paths below one of its folders: `example.com`, `example.com/blog`. */
function matches({ hostname, pathname }: URL, entry: string): boolean {
  const plain = entry
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, '')
    .replace(/^\*\./, '')
    .replace(/\*$/, '');
  const slash = plain.indexOf('/');
  const host = slash === -1 ? plain : plain.slice(0, slash);
  const path = slash === -1 ? '' : plain.slice(slash).replace(/\/$/, '');
  const own = hostname.toLowerCase().replace(/\.$/, '');
  if (host === '' || (own !== host && !own.endsWith(`.${host}`))) return false;
  const rest = pathname.toLowerCase();
  return path === '' || rest === path || rest.startsWith(`${path}/`);
}

/** Undefined if every address is allowed. */
export function domainRule({ allowedDomains, blockedDomains = [] }: Lists): AllowsUrl | undefined {
  if (!allowedDomains && blockedDomains.length === 0) return undefined;
  return (url) => {
    if (allowedDomains && !allowedDomains.some((entry) => matches(url, entry))) return false;
    return !blockedDomains.some((entry) => matches(url, entry));
  };
}

const maxSites = 5;

/** Search engines know this syntax; results are checked in any case. */
export function withSites(query: string, { allowedDomains = [] }: Lists): string {
  if (allowedDomains.length === 0 || allowedDomains.length > maxSites) return query;
  return `${query} ${allowedDomains.map((domain) => `site:${domain}`).join(' OR ')}`;
}

/** The addresses that texts contain, with or without a scheme, for comparison. */
export class KnownAddresses {
  readonly #known = new Set<string>();

  add(text: string): void {
    for (const word of text.split(/[\s<>"'`()[\]{}|,]+/)) {
      if (word.includes('.')) this.#known.add(plainAddress(word));
    }
  }

  has(url: string): boolean {
    return this.#known.has(plainAddress(url));
  }
}

function plainAddress(address: string): string {
  const bare = address
    .replace(/^https?:\/\//i, '')
    .replace(/#.*$/s, '')
    .replace(/[.:;!?]+$/, '')
    .replace(/\/$/, '');
  const slash = bare.search(/[/?]/);
  return slash === -1 ? bare.toLowerCase() : bare.slice(0, slash).toLowerCase() + bare.slice(slash);
}
