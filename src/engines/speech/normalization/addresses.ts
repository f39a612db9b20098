import { digits } from './numbers.ts';

const spelled = (letters: string): string => [...letters.toUpperCase()].join(' ');

/** Domains that are read as words; others of two or three letters are spelled. */
const wordDomains: ReadonlySet<string> = new Set(
  'com org net edu gov info biz name museum app dev blog shop site online cloud store tech art page wiki news'.split(
    ' ',
  ),
);

const email = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?<![.-])/g;
const url = /(?<![\w@])(?:https?:\/\/|www\.)[^\s<>"'`()[\]{}]{1,2000}(?<![.,;:!?])/gi;
const domain =
  /(?<![\w@./-])(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|edu|gov|io|ai|dev|app|co\.uk|uk|de|fr|eu|info|tv|me)(?:\/[\w./%-]{0,200})?(?<![./-])(?![\w@])/gi;
const ipAddress = /(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?(?!\w|\.\w)/g;
const version = /(?<![\w.])v?\d{1,4}(?:\.\d{1,3}){2,3}(?!\w|\.\w)/g;
const fileName =
  /(?<![\w/.])([\w-]{1,60})\.(md|txt|pdf|json|ya?ml|html?|css|ts|js|mjs|tsx|jsx|py|rs|go|java|cpp|c|h|sh|png|jpe?g|gif|svg|webp|mp3|mp4|wav|ogg|flac|zip|gz|tar|csv|docx?|xlsx?|pptx?|exe|gguf|onnx|log|xml|sql|toml|ini|env)(?!\w|\.\w)/gi;

/** E-mail and web addresses, numeric addresses, versions and file names as they are read aloud. */
export function verbalizeAddresses(text: string): string {
  return text
    .replace(email, (address) => {
      const [user = '', host = ''] = address.split('@');
      return `${namePart(user)} at ${hostPart(host)}`;
    })
    .replace(url, (address) => webAddress(address))
    .replace(ipAddress, (address) => address.split(/[.:]/).map(digits).join(' dot '))
    .replace(version, (numbers) => {
      const parts = numbers.replace(/^v/i, '').split('.').join(' point ');
      return /^v/i.test(numbers) ? `version ${parts}` : parts;
    })
    .replace(domain, (address) => webAddress(address))
    .replace(fileName, (_, name: string, ending: string) => `${namePart(name)} dot ${endingWord(ending)}`);
}

/** Without protocol, `www` and query, which people do not read aloud. */
function webAddress(address: string): string {
  const plain = address
    .replace(/^https?:\/\//i, '')
    .replace(/^www\./i, '')
    .replace(/[?#].*$/s, '')
    .replace(/\/+$/, '');
  const [host = '', ...path] = plain.split('/');
  const [name = '', port] = host.split(':');
  const spoken = hostPart(name) + (port ? ` port ${digits(port)}` : '');
  return [spoken, ...path.filter((part) => part !== '').map(namePart)].join(' slash ');
}

function hostPart(host: string): string {
  const labels = host.split('.');
  return labels
    .map((label, index) => {
      const isDomain = index > 0 && index >= labels.length - 2;
      return isDomain && label.length <= 3 && !wordDomains.has(label.toLowerCase()) ? spelled(label) : namePart(label);
    })
    .join(' dot ');
}

function namePart(name: string): string {
  return name
    .replace(/\./g, ' dot ')
    .replace(/-/g, ' dash ')
    .replace(/_/g, ' underscore ')
    .replace(/\+/g, ' plus ')
    .replace(/%[0-9a-f]{2}/gi, ' ')
    .replace(/[^\p{L}\p{N} ]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Endings that people say as words. */
const wordEndings: ReadonlySet<string> = new Set('zip tar log env java gif'.split(' '));

function endingWord(ending: string): string {
  return wordEndings.has(ending.toLowerCase()) ? ending : spelled(ending).replace(/\d/g, (digit) => digits(digit));
}
