import { start } from '../app/start.ts';
import LanPage from './LanPage.svelte';

start(LanPage);
