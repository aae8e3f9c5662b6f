import { PLOT_PACKAGES } from '../formats/charts/plot-packages.ts';
import { installCommand } from '../primitives/host/optional-packages.ts';
import { describe } from './command-line.ts';
import { TRACK_SPECS } from './track-arguments.ts';

/** The help text of `quadrille track --help`. */
export const TRACK_HELP: string = `quadrille track VIDEO [options]

Finds round cells, such as leukocytes, in a video and follows them from frame to frame. It writes a row for each cell and
frame. Cells are found in every K-th frame, where circles fit their edges best (GICOV). They are followed in all frames by
snakes in the motion gradient vector flow around them (Boyer, Tarjan, Acton and Skadron, 2009).

VIDEO is an AVI (uncompressed or MJPEG), a TIFF of many pages (8 or 16 bits, grey or RGB), a folder of PNG files, or - for Y4M
on standard input (ffmpeg -i VIDEO -f yuv4mpegpipe -pix_fmt gray - | quadrille track -). Memory does not grow with its length.

${describe(TRACK_SPECS)}

Detection:
  --radius should cover the radii of the cells. No circle is tried nearer to an edge of the frame than the largest radius plus
  2 pixels (22 by default). Cells are found farther in, and are then followed up to 5 pixels from the edge.
  If texture is mistaken for cells, raise --threshold, for instance to 2.7; give --sign if all cells are bright or all are
  dark; or try --background still if cells move and the camera does not. If cells are missed, lower --threshold.

What is written:
  --out      track,frame,time,x,y,radius,score,speed, with units in the names: time_s if the frame rate is known, otherwise
             time_frames; x_px,y_px,radius_px, where 0,0 is the centre of the upper left pixel; speed_um_per_s if the pixel
             size is known as well, otherwise speed_px_per_frame. The speed is measured from the previous frame that has the
             track, and is blank in the first row of a track.
             Tracks are numbered from 1, frames from 0. The score is that of the last detection of the track; it is
             negative for cells brighter than their surroundings. Without any cell only the header is written.
  --overlay  frame000.png, …: each contour has the colour of its track. In all frames, greys are scaled to the darkest and
             the brightest value of the first frame.
  --ctc      mask000.tif, …: label images of 16 bits, and res_track.txt with lines L B E P. A label is the number of a track.
             A track that is seen again after a gap gets a new label, from 65535 down, with the old label as its parent.
  --plot and --report draw with these packages: ${installCommand(PLOT_PACKAGES)}

  A run that fails writes nothing. A run stopped by Ctrl-C keeps the results of the frames that were done, and says so.

Example:
  quadrille track vessel.avi --pixel-size 0.4 --frame-rate 30 --out tracks.csv --plot tracks.svg --report report.html
`;
