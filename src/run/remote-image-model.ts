import type { ImageFacts } from '../core/image.ts';
import { readRemote } from '../engines/image/remote/address.ts';
import { RemoteImage } from '../engines/image/remote/engine.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLife } from './engine-life.ts';
import type { OtherModels } from './other-models.ts';
import { pictureEditor } from './picture-editor.ts';

/** The server of `--sdremote`. It may come later than this one, and may go: whoever wants a picture then hears so. */
export function remoteImageModel(
  words: readonly string[],
  terminal: Pick<Terminal, 'line'>,
): NonNullable<OtherModels['image']> {
  const address = readRemote(words);
  const { url } = address;
  const make = () => {
    const observer = {
      loaded: ({ name }: ImageFacts) => terminal.line(`${url} draws pictures, with ${name}.`),
      failed: (reason: string) => terminal.line(`Nobody draws pictures yet: ${reason}.`),
    };
    // What it needs is loaded only where there is such a server.
    const connect = async () => (await import('../engines/image/remote/connect.ts')).connectRemote(address);
    return new EngineLife(new RemoteImage({ connect, observer, editor: pictureEditor }));
  };
  return {
    given: true,
    optional: true,
    facts: unknownFacts(url),
    recipe: { name: url, kind: 'image', besides: true, need: async () => 0, make },
  };
}

/** Until it has answered. */
function unknownFacts(url: string): ImageFacts {
  return {
    name: url,
    title: url,
    path: url,
    nativeSize: 512,
    samplers: ['Euler a'],
    schedulers: ['automatic'],
    upscalers: [],
    defaults: { steps: 20, guidance: 7, size: 512 },
  };
}
