import { PLOT_PACKAGES } from '../formats/plot-packages.ts';
import { installCommand } from '../primitives/optional-packages.ts';
import { describe } from './command-line.ts';
import { TRACK_SPECS } from './track-arguments.ts';

/** The page of `quadrille track --help`. */
export const TRACK_HELP: string = `quadrille track VIDEO [options]

Finds round cells, such as leukocytes, in a video and follows them from frame to frame: a row for each cell and frame. Cells
are found where circles fit their edges best (GICOV), in every K-th frame, and followed in all by snakes in the motion gradient
vector flow around them, after Boyer, Tarjan, Acton and Skadron (2009).

VIDEO is an AVI (uncompressed or MJPEG), a TIFF of many pages (8 or 16 bits, grey or RGB), a folder of PNG, or - for Y4M on
standard input (ffmpeg -i VIDEO -f yuv4mpegpipe -pix_fmt gray - | quadrille track -). Memory does not grow with it.

${describe(TRACK_SPECS)}

What is found:
  --radius should hold the radii of the cells. No circle is tried nearer to an edge of the frame than the greatest radius and 2
  pixels, 22 by default: cells are found when they are farther in, and then followed up to 5 pixels from the edge.
  If texture is taken for cells, raise --threshold, to 2.7 say, give --sign where all cells are bright or all are dark, and
  try --background still where cells move and the camera does not. If cells are missed, lower --threshold.

What is written:
  --out      track,frame,time,x,y,radius,score,speed, with units: time_s where the frame rate is known, else time_frames;
             x_px,y_px,radius_px: 0,0 is the middle of the upper left pixel; speed_um_per_s where the side of a pixel is known
             as well, else speed_px_per_frame: since the frame before in which the track was, blank in its first row.
             Tracks are numbered from 1, frames from 0. The score is that of the detection by which the track was found last,
             negative for cells brighter than what is around them. Without any cell there is the header alone.
  --overlay  frame000.png, …: the contour of a cell has the colour of its track. Greys are shown from the darkest to
             the brightest of the first frame, in all frames.
  --ctc      mask000.tif, …: label images of 16 bits, and res_track.txt: lines L B E P. A label is the number of a track; one
             that is seen again after a gap goes on under another label, from 65535 down, with the one before as parent.
  --plot and --report draw with packages of their own: ${installCommand(PLOT_PACKAGES)}
  A run that fails writes nothing. One that is stopped by Ctrl-C keeps what came of the frames that were done, and says so.

  quadrille track vessel.avi --pixel-size 0.4 --frame-rate 30 --out tracks.csv --plot tracks.svg --report report.html
`;
