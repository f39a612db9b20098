import { start } from '../app/start.ts';
import LauncherPage from './LauncherPage.svelte';

start(LauncherPage);
