import { type DrawingRemote, readDrawingRemote } from '../config/remote.ts';
import type { ImageFacts } from '../core/image.ts';
import { BackendPool } from '../engines/remote/backend-pool.ts';
import type { BackendConnection } from '../engines/remote/connection.ts';
import { RemoteDrawing } from '../engines/remote/drawing/engine.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import type { TaskModels } from './kinds.ts';
import { pictureEditor } from './picture-editor.ts';
import { asPng } from './remote-others.ts';
import { engineTimer } from './text-engine.ts';

/** The backend of `--sdremote`. It may start later than this server, and may go: requests for pictures then say so. */
export function remoteImageModel(
  words: readonly string[],
  terminal: Pick<Terminal, 'line'>,
): NonNullable<TaskModels['image']> {
  const remote = readDrawingRemote(words, process.env);
  const { base } = remote.address;
  const make = () => new EngineLifecycle(new RemoteDrawing(poolOf(remote, terminal), asPng(pictureEditor)));
  return {
    given: true,
    optional: true,
    facts: unknownFacts(base),
    spec: { name: base, kind: 'image', besides: true, need: async () => 0, make },
  };
}

function poolOf({ address, kind }: DrawingRemote, terminal: Pick<Terminal, 'line'>): BackendPool {
  return new BackendPool({
    addresses: [address],
    environment: process.env,
    capability: 'image',
    startTimer: engineTimer,
    now: () => performance.now(),
    say: (line) => terminal.line(line),
    // The adapters of the products are loaded only where there is such a backend.
    identify: async (connection: BackendConnection) =>
      (await import('../engines/remote/drawing/identify.ts')).identifyDrawing(connection, kind),
  });
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
