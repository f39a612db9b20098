import type { MusicEngine, MusicService } from '../core/music.ts';
import { countSound } from './task-services.ts';
import { type TaskDeps, tasks } from './tasks.ts';

export function musicService(deps: TaskDeps<MusicEngine>): MusicService {
  const { stream } = tasks(deps);
  return {
    name: deps.source.name,
    generate: (request, context) =>
      stream(context, ({ engine, signal }) => countSound(engine.generate(request, signal), context), {
        paced: true,
      }),
  };
}
