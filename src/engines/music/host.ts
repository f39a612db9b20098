import type { MusicEngine, MusicEvent, MusicFacts, MusicRequest } from '../../core/music.ts';
import { TaskEngine } from '../host/task-engine.ts';
import type { MusicOptions } from './messages.ts';

/** Host of the music worker process. */
export class MusicHost extends TaskEngine<MusicOptions, MusicFacts, MusicRequest, MusicEvent> implements MusicEngine {
  async *generate(request: MusicRequest, signal: AbortSignal): AsyncGenerator<MusicEvent> {
    yield* this.run(request, signal);
  }
}
